/**
 * Mocked runs: connector calls are answered from the run's fixtures or the action's mocks instead of the provider.
 * Contract: runtime calls; the command line's `--mock` and `--record`.
 */
import { Schema } from "effect"
import { isObject, Json } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import { camelSlug } from "./Binding.js"

/** The output of a call. `input`: the fixture is for calls whose arguments have these members and values. */
export const Fixture = Schema.Struct({
  connector: Schema.String,
  action: Schema.String,
  input: Schema.optional(Json),
  output: Json
}).annotations({ identifier: "Fixture" })
export type Fixture = typeof Fixture.Type

/** `partial`: calls without a mock go to the provider. `full`: they fail. */
export const MockMode = Schema.Literal("none", "partial", "full")
export type MockMode = typeof MockMode.Type

/** How a run's connector calls are mocked. */
export interface Mocking {
  readonly mode: "partial" | "full"
  readonly fixtures: ReadonlyArray<Fixture>
  /** No other call has an effect either: one that could is refused. */
  readonly isRehearsal?: true
}

/** Whether the value has every member and element of the pattern. */
const covers = (pattern: Json, value: Json | undefined): boolean => {
  if (isObject(pattern))
    return isObject(value) && Object.entries(pattern).every(([name, member]) => covers(member, value[name]))
  if (Array.isArray(pattern))
    return Array.isArray(value) && value.length === pattern.length && pattern.every((one, at) => covers(one, value[at]))
  return pattern === value
}

type Candidates = ReadonlyArray<{ readonly input?: Json | undefined; readonly output: Json }>

/** The first candidate whose input the arguments cover, else the first without an input. */
const matching = (candidates: Candidates, args: Json): { readonly output: Json } | undefined =>
  candidates.find(({ input }) => input !== undefined && covers(input, args)) ??
  candidates.find(({ input }) => input === undefined)

/** The fixture of the run for a call; `undefined` if there is none. */
export const findFixture = (
  { fixtures }: Mocking,
  slug: string,
  action: string,
  args: Json
): { readonly output: Json } | undefined =>
  matching(
    fixtures.filter((one) => one.connector === slug && one.action === action),
    args
  )

/** The mocked output of a call; `undefined` if there is none. Fixtures of the run precede mocks of the action. */
export const findMock = (
  { fixtures }: Mocking,
  slug: string,
  action: ActionDefinition,
  args: Json
): { readonly output: Json } | undefined => {
  const own = fixtures.filter(
    (one) => (one.connector === slug || one.connector === camelSlug(slug)) && one.action === action.name
  )
  return matching([...own, ...action.mocks], args)
}

/**
 * What a run whose calls are all mocked gets of a secret: its members and elements, with made-up values. It shows what the code
 * does with them, and no value to who may not read secrets.
 */
export const madeUp = (name: string, value: Json): Json => {
  if (value === null) return null
  if (typeof value === "number") return 0
  if (typeof value === "boolean") return false
  if (typeof value === "string") return `mock-${name}`
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([member, one]) => [member, madeUp(name, one)]))
    : value.map((one) => madeUp(name, one))
}

/** The fixture of a recorded step; none if the step failed or its output was too large for the trace. */
export const fixturesOf = (step: Json): ReadonlyArray<Fixture> => {
  if (!isObject(step) || step["status"] !== "completed") return []
  const { call = null, input, name, output = null } = step
  // The step of a record's call names the action that it made; its fixture names the call, as a step of a flow does in `call`.
  const called = typeof call === "string" ? `${call}#1` : typeof name === "string" ? name : ""
  const [, service, verb] = /^(unified|cdm)\.(.+)#\d+$/.exec(called) ?? []
  const { connector, action } = service === undefined ? step : { connector: service, action: verb }
  if (typeof connector !== "string" || typeof action !== "string" || (isObject(output) && "$blob" in output)) return []
  const [args] = Array.isArray(input) ? input : []
  return [{ connector, action, ...(args === undefined ? {} : { input: args }), output }]
}
