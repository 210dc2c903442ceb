/** Reads numbers as people and providers write them: `1,234.56`, `1.234,56 €`, `'1 234`. Contract: CDM types, coercion. */
import { memoize } from "../RecentMap.js"
import { type Decimal, decimalOf, decimalText, roundDecimal } from "../mapping/Decimal.js"

/** How a locale writes numbers and dates. */
interface LocaleForm {
  /** Between the whole number and its fraction. */
  readonly decimal: "." | ","
  /** Whether the day stands before the month. */
  readonly isDayFirst: boolean
}

/** The form of a language tag; an unknown one is like `en`. */
export const localeForm: (locale: string) => LocaleForm = memoize((locale) => {
  try {
    const decimal = new Intl.NumberFormat(locale).formatToParts(1.5).find(({ type }) => type === "decimal")?.value
    const parts = new Intl.DateTimeFormat(locale).formatToParts(0).map(({ type }) => type)
    const [day, month] = [parts.indexOf("day"), parts.indexOf("month")]
    return { decimal: decimal === "," ? "," : ".", isDayFirst: day < month && parts.indexOf("year") > month }
  } catch {
    return { decimal: ".", isDayFirst: false }
  }
})

/** Characters of the longest number that is read. */
const longestNumber = 100
/** What may stand around a number: white space, signs of currencies, their three letters. */
const around = /[\s\u00a0\u202f'’\p{Sc}]|(?<![\p{L}])[A-Z]{3}(?![\p{L}])/gu
const plainForm = /^[+-]?(?:\d+(?:[.,]\d+)*|[.,]\d+)$/

/** The decimal that a text writes; `undefined` if it is no number. */
export const scanNumber = (text: string, locale: string): Decimal | undefined => {
  if (text.length > longestNumber) return undefined
  const plain = text.replace(around, "")
  if (!plainForm.test(plain)) return undefined
  const point = decimalPointOf(plain, locale)
  const at = point === undefined ? -1 : plain.lastIndexOf(point)
  const whole = (at < 0 ? plain : plain.slice(0, at)).replace(/[.,+]/g, "")
  const fraction = at < 0 ? "" : plain.slice(at + 1)
  return decimalOf(`${/^-?$/.test(whole) ? `${whole}0` : whole}${fraction === "" ? "" : `.${fraction}`}`)
}

/** The sign before the fraction; `undefined` if there is none. A single sign before three digits is as the locale has it. */
const decimalPointOf = (plain: string, locale: string): "." | "," | undefined => {
  const points = plain.split(".").length - 1
  const commas = plain.split(",").length - 1
  if (points > 0 && commas > 0) return plain.lastIndexOf(".") > plain.lastIndexOf(",") ? "." : ","
  if (points + commas !== 1) return undefined
  const only = points === 1 ? "." : ","
  return /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(plain) && only !== localeForm(locale).decimal ? undefined : only
}

/** The most decimals of an amount. */
const amountPlaces = 6

/** A decimal as the text of an amount, a half of its seventh decimal rounded away from zero. */
export const amountText = (decimal: Decimal): string => {
  const text = decimalText(decimal.scale > amountPlaces ? roundDecimal(decimal, amountPlaces) : decimal)
  return /^-0(\.0+)?$/.test(text) ? text.slice(1) : text
}
