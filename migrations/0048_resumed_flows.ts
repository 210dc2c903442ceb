/** The steps of a draft that ran, by which its runs are resumed. */
import { script } from "./policies.js"

export default script("ALTER TABLE draft_snapshots ADD COLUMN spec jsonb")
