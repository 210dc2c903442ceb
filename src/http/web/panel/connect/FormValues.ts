/** The values of a form of a connector: what is sent of them, and what the API refused of them, in the words of the panel. */
import { entryOf, type FormField, type FormMistakes, type FormValues, sentValue } from "../forms/Form.js"
import type { PanelError } from "../session/Errors.js"
import type { PanelSchemas } from "../session/Session.js"
import type { Texts } from "../texts/en.js"

/** A way to connect an account, with its form. */
export type ConnectMethod = PanelSchemas["EmbeddedConnector"]["authMethods"][number]

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The field that a refused credential concerns: the first secret one. */
const credentialField = (fields: ReadonlyArray<FormField>): FormField | undefined => {
  const entered = fields.filter(({ name }) => name.startsWith("credential."))
  return entered.find(({ secret }) => secret) ?? entered[0]
}

/** What the API refused of the values, at its field where it says which. */
export const refusedMistakes = (
  { cannotConnect, wrong }: Texts,
  connector: string,
  fields: ReadonlyArray<FormField>,
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

/** The parts of the request: `config` and `credential`, without what was left empty. */
export const requestOf = (fields: ReadonlyArray<FormField>, values: FormValues) => {
  const config: Record<string, string | number | boolean> = {}
  const credential: Record<string, string> = {}
  for (const field of fields) {
    const [part, ...rest] = field.name.split(".")
    const name = rest.join(".")
    const text = entryOf(values, field.name) ?? ""
    if (part === "config") {
      if (text.trim() !== "" || field.type === "boolean") config[name] = sentValue(field, text)
    } else if (text !== "") credential[name] = text
  }
  return {
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(Object.keys(credential).length === 0 ? {} : { credential })
  }
}
