/** The values of a form of a connector: what is sent of them, and what is wrong with them, in the words of the panel. */
import type { PanelError } from "../session/Errors.js"
import type { PanelSchemas } from "../session/Session.js"
import type { Texts } from "../texts/en.js"

/** A way to connect an account, with its form. */
export type ConnectMethod = PanelSchemas["EmbeddedConnector"]["authMethods"][number]
/** A field of its form. */
export type MethodField = ConnectMethod["fields"][number]

/** What a person entered, by the names of fields. */
export type FormValues = Readonly<Record<string, string>>

/** What is wrong, by the names of fields; `form`: with all of it. */
export type FormMistakes = Readonly<Record<string, string>>

/** The values before anything is entered. */
export const initialValues = (fields: ReadonlyArray<MethodField>): FormValues =>
  Object.fromEntries(fields.map(({ initial, name }) => [name, initial ?? ""]))

const isNumeric = ({ type }: MethodField) => type === "number" || type === "integer"

const mistakeIn = ({ wrong }: Texts, field: MethodField, value: string): string | undefined => {
  const { max, min, options, required, type } = field
  if (value === "") return required && type !== "boolean" ? wrong.required : undefined
  if (options !== null) return options.includes(value) ? undefined : wrong.choice
  if (!isNumeric(field)) return undefined
  const number = Number(value)
  if (!Number.isFinite(number)) return wrong.number
  if (type === "integer" && !Number.isInteger(number)) return wrong.wholeNumber
  if (min !== null && number < min) return wrong.from(min)
  return max !== null && number > max ? wrong.upTo(max) : undefined
}

/** What can be seen to be wrong before it is sent. */
export const enteredMistakes = (texts: Texts, fields: ReadonlyArray<MethodField>, values: FormValues): FormMistakes =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const mistake = mistakeIn(texts, field, values[field.name] ?? "")
      return mistake === undefined ? [] : [[field.name, mistake]]
    })
  )

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The field that a refused credential concerns: the first secret one. */
const credentialField = (fields: ReadonlyArray<MethodField>): MethodField | undefined => {
  const entered = fields.filter(({ name }) => name.startsWith("credential."))
  return entered.find(({ secret }) => secret) ?? entered[0]
}

/** What the API refused of the values, at its field where it says which. */
export const refusedMistakes = (
  { cannotConnect, wrong }: Texts,
  connector: string,
  fields: ReadonlyArray<MethodField>,
  { details: [detail] }: PanelError
): FormMistakes => {
  if (detail?.code === "CREDENTIAL_TEST_FAILED") {
    const text = `${wrong.refused(connector)} ${sentence(detail.message)}`
    return { [credentialField(fields)?.name ?? "form"]: text }
  }
  const field = fields.find(({ name }) => detail?.path === name || detail?.path.startsWith(`${name}.`))
  // The rest the company can change only: its developers read it in the message to their page.
  return field === undefined ? { form: cannotConnect(connector) } : { [field.name]: wrong.other }
}

const valueOf = (field: MethodField, text: string): string | number | boolean => {
  if (field.type === "boolean") return text === "true"
  return isNumeric(field) && field.options === null ? Number(text) : text.trim()
}

/** The parts of the request: `config` and `credential`, without what was left empty. */
export const requestOf = (fields: ReadonlyArray<MethodField>, values: FormValues) => {
  const config: Record<string, string | number | boolean> = {}
  const credential: Record<string, string> = {}
  for (const field of fields) {
    const [part, ...rest] = field.name.split(".")
    const name = rest.join(".")
    const text = values[field.name] ?? ""
    if (part === "config") {
      if (text !== "" || field.type === "boolean") config[name] = valueOf(field, text)
    } else if (text !== "") credential[name] = text
  }
  return {
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(Object.keys(credential).length === 0 ? {} : { credential })
  }
}
