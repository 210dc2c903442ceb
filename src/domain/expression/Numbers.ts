/** Reads and compares numbers that data from outside may write as text. Guests run this module, so that it imports no library. */

/** Characters of the longest text that is read as a number. */
const longest = 400

const form = /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*$/i

/** A number, or the one that a text writes in decimal; `NaN`: none, as of blanks, `0x10` and `Infinity`. */
export const readNumber = (value: number | string): number =>
  typeof value === "number" || (value.length <= longest && form.test(value)) ? Number(value) : Number.NaN

/** Negative, 0 or positive, by all digits of integers, also beyond 2^53; `NaN`: one is no number. */
export const compareNumbers = (a: number | string, b: number | string): number => {
  const difference = readNumber(a) - readNumber(b)
  // What differs as doubles differs in the same direction. `BigInt` throws for what is no integer.
  try {
    return difference === 0 ? Number(BigInt(a) - BigInt(b)) : difference
  } catch {
    return 0
  }
}
