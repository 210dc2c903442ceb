/** The lowest level of the configuration hierarchy: the operator's values for all organisations. */
import { Context } from "effect"
import type { PlatformValues } from "../../../domain/organisation/Configuration.js"

export class PlatformConfiguration extends Context.Reference<PlatformConfiguration>()("svc/PlatformConfiguration", {
  defaultValue: (): PlatformValues => ({})
}) {}
