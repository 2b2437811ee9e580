//! The macro that declares a group of settings.

use clap::ArgMatches;
use clap::parser::ValueSource;

/// Where the value of a setting comes from, from the highest precedence to the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A flag on the command line.
    Flag,
    /// An environment variable.
    Environment,
    /// The settings file.
    File,
    /// The default, or no value if the setting has no default.
    Default,
}

impl Origin {
    /// Returns the origin of a value that clap has parsed: a flag or an environment variable.
    pub(super) fn of_argument(matches: &ArgMatches, name: &str) -> Self {
        match matches.value_source(name) {
            Some(ValueSource::EnvVariable) => Self::Environment,
            _ => Self::Flag,
        }
    }
}

/// The name, the value and the origin of a setting, as `stratusd config` prints them: secrets are
/// redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name of the setting.
    pub name: &'static str,
    /// The value as a string, `[redacted]` if it is secret, or `None` if the setting has no value.
    pub value: Option<String>,
    /// Where the value of the setting comes from.
    pub origin: Origin,
}

/// Declares a group of settings as two structs: the arguments that clap parses, and the settings
/// that they resolve to.
///
/// A setting with a default always has a value; a setting without one is an `Option`. The default
/// is not given to clap: clap would report it as a flag's value, and the settings file could never
/// override it.
macro_rules! settings {
    (
        $(#[$group_doc:meta])*
        $group:ident, from $arguments:ident:
        $(
            $(#[doc = $doc:literal])*
            $name:ident ($env:literal, $value_name:literal): $type:ty $(= $default:literal)?;
        )*
    ) => {
        $(#[$group_doc])*
        #[derive(Debug, Clone)]
        pub struct $group {
            $($(#[doc = $doc])* pub $name: settings!(@resolved $type $(, $default)?),)*
            all: Vec<Setting>,
        }

        /// The values of these settings that flags and environment variables give.
        #[derive(Debug, Clone, Default, clap::Args)]
        #[allow(clippy::struct_field_names, reason = "a field is named as its flag")]
        pub struct $arguments {
            $(
                $(#[doc = $doc])*
                #[arg(long, env = $env, hide_env_values = true, value_name = $value_name,
                      help = settings!(@help [$($doc)*] $($default)?))]
                $name: Option<$type>,
            )*
        }

        impl $arguments {
            pub(super) const KEYS: &[&str] = &[$(stringify!($name)),*];

            /// Returns the settings, each with the value from the origin with the highest
            /// precedence that has a value for it.
            ///
            /// # Errors
            ///
            /// If a value in the settings file is invalid.
            pub fn resolve(
                &self,
                matches: &clap::ArgMatches,
                file: &SettingsFile,
            ) -> anyhow::Result<$group> {
                let mut all = Vec::new();
                $(
                    let (value, origin) = match &self.$name {
                        Some(value) => {
                            (Some(value.clone()), Origin::of_argument(matches, stringify!($name)))
                        }
                        None => match file.value::<$type>(stringify!($name))? {
                            Some(value) => (Some(value), Origin::File),
                            None => (settings!(@default $type $(, $default)?), Origin::Default),
                        },
                    };
                    let text = value.as_ref().map(ToString::to_string);
                    all.push(Setting { name: stringify!($name), value: text, origin });
                    let $name = settings!(@unwrap value $(, $default)?);
                )*
                Ok($group { $($name,)* all })
            }
        }

        impl $group {
            /// Returns all settings of the group in the order of declaration, with secrets
            /// redacted.
            #[must_use]
            pub fn all(&self) -> &[Setting] {
                &self.all
            }
        }
    };
    (@resolved $type:ty, $default:literal) => { $type };
    (@resolved $type:ty) => { Option<$type> };
    (@default $type:ty, $default:literal) => {
        Some($default.parse::<$type>().expect("the default is valid"))
    };
    (@default $type:ty) => { None };
    (@unwrap $value:ident, $default:literal) => { $value.expect("the setting has a default") };
    (@unwrap $value:ident) => { $value };
    (@help [$($doc:literal)*] $default:literal) => {
        concat!($($doc, " ",)* "[default: ", $default, "]").trim_start()
    };
    (@help [$($doc:literal)*]) => { concat!($($doc, " "),*).trim() };
}
