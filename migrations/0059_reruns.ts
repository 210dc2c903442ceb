/**
 * Finds the runs that were started again from one: only re-runs have a parent. The commit of another run compares its trigger
 * type, and does not read its document.
 */
import { script } from "./policies.js"

export default script(
  ...["runs", "executions"].map(
    (table) =>
      `CREATE INDEX ${table}_parent ON ${table} (org, (record->>'parentId'), id DESC) WHERE trigger_type = 'rerun'`
  )
)
