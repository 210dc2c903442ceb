/**
 * Exact decimal numbers: amounts are strings such as `-12.50`, and no arithmetic loses a cent. Guests run this module, so
 * that it imports no library.
 */

/** `digits` divided by ten to the power of `scale`, which is the number of digits after the point. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

/** Characters of a decimal string. */
const maxLength = 400

const decimalForm = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/

/** The decimal that a string writes, such as `-12.50`, or a number prints as; `undefined` if there is none. */
export const decimalOf = (value: string | number): Decimal | undefined => {
  const isText = typeof value === "string"
  if (isText && value.length > maxLength) return undefined
  const [, whole, fraction = "", exponent] = decimalForm.exec(String(value)) ?? []
  if (whole === undefined || (isText && exponent !== undefined)) return undefined
  const digits = BigInt(whole + fraction)
  const scale = fraction.length - Number(exponent ?? 0)
  return scale < 0 ? { digits: digits * tenTo(-scale), scale: 0 } : { digits, scale }
}

/** The string that `decimalOf` reads, with as many digits after the point as the scale says. */
export const decimalText = ({ digits, scale }: Decimal): string => {
  const sign = digits < 0n ? "-" : ""
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0")
  return scale === 0 ? sign + text : `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`
}

/** The product, with as many digits after the point as both factors have. */
export const multiplyDecimals = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  scale: a.scale + b.scale
})

/** The sum, with as many digits after the point as the summand that has more. */
export const addDecimals = (a: Decimal, b: Decimal): Decimal => {
  const scale = Math.max(a.scale, b.scale)
  return { digits: withScale(a, scale) + withScale(b, scale), scale }
}

/** The decimal with so many digits after the point; a half is rounded away from zero. */
export const roundDecimal = (one: Decimal, places: number): Decimal => {
  if (one.scale <= places) return { digits: withScale(one, places), scale: places }
  const unit = tenTo(one.scale - places)
  const isNegative = one.digits < 0n
  const rounded = ((isNegative ? -one.digits : one.digits) + unit / 2n) / unit
  return { digits: isNegative ? -rounded : rounded, scale: places }
}

/** The digits with a scale that is at least the decimal's own. */
const withScale = ({ digits, scale }: Decimal, wanted: number): bigint => digits * tenTo(wanted - scale)

const tenTo = (power: number): bigint => 10n ** BigInt(power)
