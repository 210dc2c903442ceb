/** What is entered to set up an integration: its settings, and which accounts it uses. */
import { useEffect, useState } from "preact/hooks"
import { initialValues } from "../forms/Form.js"
import { fieldsOfForm, type SchemaForm } from "../forms/SchemaForm.js"
import type { ConnectorAccounts } from "./AccountChoices.js"
import type { SetUpDraft, SetUpIntegration } from "./Panel.js"

type Chosen = SetUpDraft["chosen"]

const usedAccount = (installed: SetUpIntegration | null, slug: string): string | null =>
  installed !== null && Object.hasOwn(installed.connections, slug) ? (installed.connections[slug] ?? null) : null

/** The account that is used and that the session does not see. If an account is missing, it may be that one: then it is none. */
export const hiddenAccount = (
  installed: SetUpIntegration | null,
  { accounts, slug }: ConnectorAccounts
): string | null => {
  const used = usedAccount(installed, slug)
  return installed?.status === "needs_connection" || accounts.some(({ id }) => id === used) ? null : used
}

/** The choices with those that follow where there was none: an account that is new, or at first the only one. */
const completed = (
  chosen: Chosen,
  known: SetUpDraft["known"],
  installed: SetUpIntegration | null,
  found: ReadonlyArray<ConnectorAccounts>
): Chosen =>
  new Map(
    found.map((connector) => {
      const { accounts, slug } = connector
      const hidden = hiddenAccount(installed, connector)
      const before = known === null ? (usedAccount(installed, slug) ?? "") : (chosen.get(slug) ?? "")
      if (before !== "" && (before === hidden || accounts.some(({ id }) => id === before))) return [slug, before]
      const fresh = known === null ? [] : accounts.filter(({ id }) => !known.includes(id))
      const only = known === null && accounts.length === 1 ? accounts : []
      return [slug, [...fresh, ...only][0]?.id ?? ""]
    })
  )

/** What is entered, with the choices that follow from the accounts. */
export const useEntered = (
  installed: SetUpIntegration | null,
  form: SchemaForm,
  draft: SetUpDraft | null,
  found: ReadonlyArray<ConnectorAccounts> | null
) => {
  const [values, setValues] = useState(() => draft?.values ?? initialValues(fieldsOfForm(form)))
  const [{ chosen, known }, setChoices] = useState<Pick<SetUpDraft, "chosen" | "known">>({
    chosen: draft?.chosen ?? new Map(),
    known: draft?.known ?? null
  })
  useEffect(() => {
    if (found === null) return
    setChoices((before) => ({
      chosen: completed(before.chosen, before.known, installed, found),
      known: found.flatMap(({ accounts }) => accounts.map(({ id }) => id))
    }))
  }, [found, installed])
  const choose = (slug: string, id: string) => setChoices({ known, chosen: new Map([...chosen, [slug, id]]) })
  const entered: SetUpDraft = { installed, values, chosen, known }
  return {
    entered,
    values,
    setValues,
    chosen,
    choose,
    isComplete: known !== null
  }
}

/** The accounts that are sent. One that is used and not seen stays until another is chosen. */
export const sentAccounts = (
  installed: SetUpIntegration | null,
  chosen: Chosen,
  found: ReadonlyArray<ConnectorAccounts>
): Record<string, string> =>
  Object.fromEntries(
    found.flatMap(({ accounts, slug }): ReadonlyArray<readonly [string, string]> => {
      const used = usedAccount(installed, slug)
      const kept = used !== null && installed?.status === "needs_connection" && !accounts.some(({ id }) => id === used)
      const id = chosen.get(slug) || (kept ? used : "")
      return id === "" ? [] : [[slug, id]]
    })
  )
