-- Waits in Neovim until the language server has reported the fault of the document, and asks for a
-- definition and a hover as a person does. `cargo xtask editors` runs it.

local PATIENCE = 60000

-- Waits until a function returns something, and returns that.
local function eventually(what, ask)
  local found
  vim.wait(PATIENCE, function()
    found = ask()
    return found
  end, 20)
  return found or error("there is no " .. what)
end

local function check()
  local diagnostic = eventually("diagnostic", function() return vim.diagnostic.get(0)[1] end)
  assert(diagnostic.source == "stratus", vim.inspect(diagnostic))
  assert(diagnostic.message:find("a schema has no `requried`", 1, true), diagnostic.message)
  assert(diagnostic.lnum == 17 and diagnostic.severity == vim.diagnostic.severity.ERROR, vim.inspect(diagnostic))
  assert(#vim.diagnostic.get(0) == 1, vim.inspect(vim.diagnostic.get(0)))

  -- From the reference to its schema.
  vim.api.nvim_win_set_cursor(0, { 12, 38 })
  vim.lsp.buf.definition()
  eventually("definition", function() return vim.api.nvim_win_get_cursor(0)[1] == 15 end)

  vim.lsp.buf.hover()
  local shown = eventually("hover", function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= "" then
        local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
        return table.concat(lines, "\n")
      end
    end
  end)
  assert(shown:find("An animal that lives with people.", 1, true), shown)
end

local is_right, why = xpcall(check, debug.traceback)
if not is_right then
  io.stderr:write(why .. "\n")
end
vim.cmd(is_right and "qall!" or "cquit")
