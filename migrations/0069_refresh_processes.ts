/** The process that has a refresh of a token in hand. Nodes of earlier releases write none, and go by the time alone. */
import { script } from "./policies.js"

export const oldestBeside = 1

export default script("ALTER TABLE refresh_intents ADD COLUMN process text")
