/** JSON Schema (2020-12): what a workflow takes and what it returns. */
import { Context } from "effect"
import type { Detail } from "../../domain/Failure.js"
import type { Json, JsonObject } from "../../domain/Json.js"

export class Contracts extends Context.Tag("svc/Contracts")<
  Contracts,
  {
    /** Where `value` breaks the schema; empty when it does not. */
    readonly violations: (schema: JsonObject, value: Json) => ReadonlyArray<Detail>
    /** What is wrong with the schema itself. */
    readonly mistakes: (schema: JsonObject) => ReadonlyArray<Detail>
  }
>() {}
