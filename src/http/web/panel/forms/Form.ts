/** The fields of a form, what a person entered into them, and what can be seen to be wrong with it before it is sent. */
import type { ConnectField } from "../../../../domain/connection/ConnectForm.js"
import type { Texts } from "../texts/en.js"

/** A field of a connector's form; of the form of a schema with more. `name`: under which the form keeps what is entered. */
export interface FormField extends Omit<ConnectField, "form"> {
  /** Numbers that the value must be more, or less, than. */
  readonly over?: number | null
  readonly under?: number | null
  /** Characters. */
  readonly shortest?: number | null
  readonly longest?: number | null
  readonly format?: string | null
  /** Whether the value can only be seen. */
  readonly isFixed?: boolean
}

/** What a person entered, by the names of fields. */
export type FormValues = Readonly<Record<string, string>>

/** What is wrong, by the names of fields; `form`: with all of it. */
export type FormMistakes = Readonly<Record<string, string>>

/** What is kept of a field, if anything: names may be those of members that each object has. */
export const entryOf = (entries: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(entries, name) ? entries[name] : undefined

/** The values before anything is entered. */
export const initialValues = (fields: ReadonlyArray<FormField>): FormValues =>
  Object.fromEntries(fields.map(({ initial, name }) => [name, initial ?? ""]))

const isNumeric = ({ type }: Pick<FormField, "type">) => type === "number" || type === "integer"

/** As JSON has numbers: without other bases, and without words. */
const numberPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/** The number that is entered; `NaN` if it is none. */
const numberIn = (text: string): number => (numberPattern.test(text.trim()) ? Number(text) : Number.NaN)

const mistakeInNumber = ({ wrong }: Texts, field: FormField, value: string): string | undefined => {
  const { max, min, over = null, type, under = null } = field
  const number = numberIn(value)
  if (!Number.isFinite(number)) return wrong.number
  if (type === "integer" && !Number.isInteger(number)) return wrong.wholeNumber
  // Beyond, whole numbers are no longer told apart.
  if (type === "integer" && number > Number.MAX_SAFE_INTEGER) return wrong.upTo(Number.MAX_SAFE_INTEGER)
  if (type === "integer" && number < Number.MIN_SAFE_INTEGER) return wrong.from(Number.MIN_SAFE_INTEGER)
  if (min !== null && number < min) return wrong.from(min)
  if (max !== null && number > max) return wrong.upTo(max)
  if (over !== null && number <= over) return wrong.over(over)
  return under !== null && number >= under ? wrong.under(under) : undefined
}

const mistakeInText = (
  { wrong }: Texts,
  { longest = null, shortest = null }: FormField,
  value: string
): string | undefined => {
  const { length } = [...value]
  if (shortest !== null && length < shortest) return wrong.shortest(shortest)
  return longest !== null && length > longest ? wrong.longest(longest) : undefined
}

const mistakeIn = (texts: Texts, field: FormField, value: string): string | undefined => {
  const { isFixed = false, options, required, type } = field
  if (type === "boolean" || isFixed) return undefined
  if (options !== null && options.includes(value)) return undefined
  const trimmed = value.trim()
  if (trimmed === "") return required ? texts.wrong.required : undefined
  if (options !== null) return texts.wrong.choice
  return isNumeric(field) ? mistakeInNumber(texts, field, trimmed) : mistakeInText(texts, field, trimmed)
}

/** What can be seen to be wrong before it is sent. */
export const enteredMistakes = (texts: Texts, fields: ReadonlyArray<FormField>, values: FormValues): FormMistakes =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const mistake = mistakeIn(texts, field, entryOf(values, field.name) ?? "")
      return mistake === undefined ? [] : [[field.name, mistake]]
    })
  )

/** What a field sends for a text. Of texts the ends are cut, where a person has entered them. */
export const sentValue = (field: FormField, text: string): string | number | boolean => {
  if (field.type === "boolean") return text === "true"
  if (field.options !== null || text === field.initial) return isNumeric(field) ? numberIn(text) : text
  return isNumeric(field) ? numberIn(text) : text.trim()
}
