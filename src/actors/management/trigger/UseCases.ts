/** The use cases of triggers, as one layer. */
import { Layer } from "effect"
import { TriggerFiring } from "./TriggerFiring.js"
import { Triggers } from "./Triggers.js"

export const triggerUseCases = Layer.mergeAll(TriggerFiring.Default, Triggers.Default)
