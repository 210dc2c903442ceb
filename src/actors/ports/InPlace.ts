/**
 * Whether a node that owns what it asks for does it in place, without an encoded message to itself. Only an optimisation: a
 * service in which it is off does the same (`test/support/FaultyMain.ts`).
 */
import { Context } from "effect"

export class InPlace extends Context.Reference<InPlace>()("svc/InPlace", { defaultValue: (): boolean => true }) {}
