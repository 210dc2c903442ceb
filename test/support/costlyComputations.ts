/** Computations of a tenant that would not end. */
import { Effect } from "effect"
import { Computations, type ComputationName, type ComputationTable } from "../../src/actors/ports/Computations.js"
import { OrganisationId } from "../../src/domain/Ids.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { bundleRunner } from "./sandboxRunner.js"

export const worker = bundleRunner("src/runtime/computing/worker/Worker.ts")

const organisation = (n: number) => OrganisationId.make(`org_01jd00000000000000000000${String(n).padStart(2, "0")}`)
export const [attacker, neighbour] = [organisation(1), organisation(2)]

export const compute = <Name extends ComputationName>(
  name: Name,
  input: ComputationTable[Name]["input"],
  by = attacker
) => Effect.flatMap(Computations, (computations) => computations.compute(name, by, input))

export const check = (schema: JsonObject, value: Json, by = attacker) => compute("checkValue", { schema, value }, by)

const doubling = Object.fromEntries(
  Array.from({ length: 40 }, (_, n): [string, Json] => [
    `d${n}`,
    { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }
  ])
)

/** Each fails with `TooCostly`. */
export const endlessComputations: ReadonlyArray<
  readonly [name: string, computation: Effect.Effect<unknown, { readonly _tag: string }, Computations>]
> = [
  ["a pattern of a contract", check({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`)],
  [
    "a pattern behind a reference",
    check({ $ref: "#/$defs/a", $defs: { a: { pattern: "^(a|a)*$" } } }, `${"a".repeat(60)}!`)
  ],
  [
    "the comparison of many items",
    check(
      { uniqueItems: true },
      Array.from({ length: 200_000 }, (_, n) => n)
    )
  ],
  [
    "definitions that double",
    compute("checkSchemas", { inputContract: { $ref: "#/$defs/d0", $defs: { ...doubling, d40: { type: "null" } } } })
  ],
  ["a format", check({ format: "url" }, `http://${"a".repeat(60)}!`)],
  ["a pattern of a credential's field", compute("matchPatterns", [{ pattern: "^(a+)+$", text: `${"a".repeat(500)}!` }])]
]
