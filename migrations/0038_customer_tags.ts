/** Tags of customers, by which lists are filtered. */
import { script } from "./policies.js"

export default script("ALTER TABLE customers ADD COLUMN tags text[] NOT NULL DEFAULT '{}'")
