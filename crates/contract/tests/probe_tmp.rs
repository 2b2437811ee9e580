//! Probe.
use serde_json::{Value, json};
use std::time::Instant;

fn nodes<'v>(v: &'v mut Value, out: &mut Vec<*mut Value>) {
    out.push(v as *mut _);
    match v { Value::Array(a) => a.iter_mut().for_each(|x| nodes(x, out)), Value::Object(o) => o.values_mut().for_each(|x| nodes(x, out)), _ => {} }
}
fn pointers(v: &Value, at: String, out: &mut Vec<String>) {
    out.push(at.clone());
    match v { Value::Array(a) => for (i,x) in a.iter().enumerate() { pointers(x, format!("{at}/{i}"), out) }, Value::Object(o) => for (k,x) in o { pointers(x, format!("{at}/{}", k.replace('~',"~0").replace('/',"~1")), out) }, _ => {} }
}

#[test]
fn mutated() {
    let mut seed: u64 = 12345;
    let mut rnd = move || { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; (seed >> 11) as usize };
    let folder = std::path::PathBuf::from("/work/shared/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    let mut slow = std::time::Duration::ZERO;
    for file in &files {
        let text = std::fs::read(file).unwrap();
        if text.len() > 40000 { continue }
        let v: Value = serde_json::from_slice(&text).unwrap();
        let mut ps = vec![]; pointers(&v, String::new(), &mut ps);
        for _ in 0..150 {
            let mut m = v.clone();
            for _ in 0..(1 + rnd() % 4) {
                let src = v.pointer(&ps[rnd() % ps.len()]).unwrap().clone();
                let p = &ps[rnd() % ps.len()];
                if let Some(x) = m.pointer_mut(p) {
                    *x = match rnd() % 9 { 0 => Value::Null, 1 => json!(true), 2 => json!(-1.5), 3 => json!("x"), 4 => json!([]), 5 => json!({}), 6 => json!({"$ref": format!("#{}", ps[rnd() % ps.len()])}), 7 => json!({"$ref": format!("#{}", p)}), _ => src };
                }
            }
            let bytes = serde_json::to_vec(&m).unwrap();
            let t = Instant::now();
            let loaded = contract::load_text("m.json", &bytes);
            let took = t.elapsed();
            if took > slow { slow = took; println!("{took:?} {}", file.display()); if took.as_millis() > 1000 { std::fs::write("/tmp/slow.json", &bytes).unwrap(); } }
            if let Some(c) = &loaded.contract { let _ = contract::bundle::schema_bundle(c); for i in 0..c.schemas.len() { let _ = c.resolve(contract::model::SchemaId(i as u32)); } }
            let _ = contract::render(&loaded.sources, &loaded.diagnostics);
        }
    }
}

#[test]
fn sizes() {
    for n in [2000, 20000] {
        let mut schemas = serde_json::Map::new();
        let mut paths = serde_json::Map::new();
        for i in 0..n {
            schemas.insert(format!("S{i}"), json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "maxLength": 3, "example": "abc"}, "b": {"$ref": format!("#/components/schemas/S{}", (i + 1) % n)}, "c": {"type": "array", "items": {"$ref": format!("#/components/schemas/S{}", (i * 7) % n)}}}}));
            paths.insert(format!("/p{i}/{{id}}"), json!({"get": {"operationId": format!("o{i}"), "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}], "responses": {"200": {"description": "d", "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/S{i}")}}}}}}}));
        }
        let doc = json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths, "components": {"schemas": schemas}});
        let bytes = serde_json::to_vec(&doc).unwrap();
        let t = Instant::now();
        let l = contract::load_text("a.json", &bytes);
        println!("plain {n} {} bytes {:?} {}", bytes.len(), t.elapsed(), l.diagnostics.len());
        // dangling everywhere
        let bad = String::from_utf8(bytes).unwrap().replace("schemas/S", "schemas/Q");
        let t = Instant::now();
        let l = contract::load_text("a.json", bad.as_bytes());
        println!("dangling {n} {:?} {}", t.elapsed(), l.diagnostics.len());
    }
    for n in [1000, 100_000] {
        let mut schemas = serde_json::Map::new();
        let mut params = serde_json::Map::new();
        for i in 0..n {
            schemas.insert(format!("S{i}"), json!({"$ref": format!("#/components/schemas/S{}", i + 1)}));
            params.insert(format!("P{i}"), json!({"$ref": format!("#/components/parameters/P{}", i + 1)}));
        }
        schemas.insert(format!("S{n}"), json!({"type": "string", "maxLength": 3}));
        params.insert(format!("P{n}"), json!({"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/S0"}, "example": "abc"}));
        let doc = json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/a": {"get": {"parameters": [{"$ref": "#/components/parameters/P0"}], "responses": {"200": {"description": "d"}}}}}, "components": {"schemas": schemas, "parameters": params}});
        let bytes = serde_json::to_vec(&doc).unwrap();
        let t = Instant::now();
        let l = contract::load_text("a.json", &bytes);
        println!("chain {n} {:?} {} {:?}", t.elapsed(), l.diagnostics.len(), l.diagnostics.first());
    }
    // deep
    let mut s = json!({"type": "string", "example": "a"});
    for _ in 0..200 { s = json!({"type": "object", "properties": {"deep": s}}); }
    let doc = json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "components": {"schemas": {"A": s}}});
    let bytes = serde_json::to_vec(&doc).unwrap();
    let t = Instant::now();
    let l = contract::load_text("a.json", &bytes);
    println!("deep {:?} {} {:?}", t.elapsed(), l.diagnostics.len(), l.diagnostics.first());
    // doubling
    let mut schemas = serde_json::Map::new();
    for i in 0..60 { let r = json!({"$ref": format!("#/components/schemas/S{}", i + 1)}); schemas.insert(format!("S{i}"), json!({"allOf": [r, r]})); }
    schemas.insert("S60".into(), json!({"type": "string", "maxLength": 3}));
    schemas.insert("T".into(), json!({"allOf": [{"$ref": "#/components/schemas/S0"}], "example": "abc"}));
    let doc = json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "components": {"schemas": schemas}});
    let bytes = serde_json::to_vec(&doc).unwrap();
    let t = Instant::now();
    let l = contract::load_text("a.json", &bytes);
    println!("doubling {:?} {} {:?}", t.elapsed(), l.diagnostics.len(), l.diagnostics.first());
}
