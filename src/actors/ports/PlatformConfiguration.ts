/** The lowest level of the configuration hierarchy: what the operator gives every organisation. */
import { Context } from "effect"
import type { PlatformValues } from "../../domain/Configuration.js"

export class PlatformConfiguration extends Context.Reference<PlatformConfiguration>()("svc/PlatformConfiguration", {
  defaultValue: (): PlatformValues => ({})
}) {}
