/** Amounts in the smallest unit of their currency, as some providers send them. Contract: connector definition. */
import type { JsonObject } from "../Json.js"
import { valueAt } from "../expression/Path.js"

/** Where a record names its currency, and the decimals of those that do not have two. */
export interface MinorUnits {
  readonly currency: string
  readonly decimals: Readonly<Record<string, number>>
}

const usualDecimals = 2

/** The decimals of the currency of a provider's record. */
export const minorDecimals = ({ currency, decimals }: MinorUnits, record: JsonObject): number =>
  decimalsOf(decimals, valueAt(record, currency))

/** The decimals of a currency; two, unless the definition says otherwise. */
export const decimalsOf = (decimals: MinorUnits["decimals"], currency: unknown): number => {
  const code = typeof currency === "string" ? currency.toUpperCase() : ""
  return (Object.hasOwn(decimals, code) ? decimals[code] : undefined) ?? usualDecimals
}
