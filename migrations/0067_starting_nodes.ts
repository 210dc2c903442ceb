/** Nodes that start: they get no shards before they are ready. Like those that leave, which earlier releases know. */
import { script } from "./policies.js"

export const oldestBeside = 1

export default script("ALTER TABLE nodes ADD COLUMN starting boolean NOT NULL DEFAULT false")
