/** Sets up an integration, or changes its settings: the accounts that it uses, and what it asks for. */
import { useCallback, useEffect, useState } from "preact/hooks"
import type { FormMistakes } from "../forms/Form.js"
import { formBody, formMistakes, hasFields, refusedValues, schemaForm } from "../forms/SchemaForm.js"
import { asPanelError, PanelError } from "../session/Errors.js"
import { bodyOf } from "../session/Session.js"
import { errorText, useTexts } from "../texts/Words.js"
import { AccountChoice, useConnectorAccounts } from "./AccountChoices.js"
import { AttemptList } from "./Attempts.js"
import { SchemaFields } from "./FormFields.js"
import {
  countUp,
  mayDo,
  type ShownIntegration,
  type SetUpDraft,
  type SetUpIntegration,
  type ShownSession,
  usePanel
} from "./Panel.js"
import { EntryForm, Failure, Loading, ViewHeading, Wrong, useMistakes } from "./Pieces.js"
import { hiddenAccount, sentAccounts, useEntered } from "./SetUpEntries.js"

const connectionMistakes = ({ details }: PanelError, slugs: ReadonlyArray<string>): ReadonlyArray<string> =>
  slugs.filter((slug) => details.some(({ path }) => path === `connections.${slug}`))

interface Setting {
  readonly session: ShownSession
  readonly integration: ShownIntegration
  readonly installed: SetUpIntegration | null
  /** Shows it as it is now. */
  readonly reload: () => void
}

const SetUpForm = ({ draft, ...setting }: Setting & { readonly draft: SetUpDraft | null }) => {
  const texts = useTexts()
  const { notice, parent, session: panel, setUps, view } = usePanel()
  const { installed, integration, reload, session } = setting
  const { configSchema, connectors, slug, title } = integration
  const [settings] = useState(() => schemaForm(configSchema, installed?.config ?? {}, "config"))
  const { again, found } = useConnectorAccounts(session, connectors)
  const read = found instanceof PanelError ? null : found
  const { choose, chosen, entered, isComplete, setValues, values } = useEntered(installed, settings, draft, read)
  const { form, mistakes, show } = useMistakes()
  const [conflict, setConflict] = useState<PanelError | null>(null)
  const [isBusy, setBusy] = useState(false)

  if (conflict !== null) return <Failure error={conflict} again={reload} />
  if (found instanceof PanelError) return <Failure error={found} again={again} />
  if (found === null || !isComplete) return <Loading />

  const send = () => {
    const body = {
      ...(mayDo(session, "connections", "read") && { connections: sentAccounts(installed, chosen, found) }),
      ...(hasFields(settings) && { config: formBody(settings, values) })
    }
    const { client } = panel
    if (installed === null)
      return bodyOf(client.POST("/api/v1/installations", { body: { integration: slug, ...body } }))
    const params = { path: { inst: installed.id } }
    return bodyOf(client.PUT("/api/v1/installations/{inst}", { params, body: { ...body, version: installed.version } }))
  }

  const refused = (error: PanelError): FormMistakes => {
    if (error.status !== 422) return { form: errorText(texts, error) }
    const wrong = connectionMistakes(error, connectors)
    const others = error.details.filter(({ path }) => !wrong.some((one) => path === `connections.${one}`))
    return {
      ...(wrong.length === 0 || others.length > 0 ? refusedValues(texts, settings, others) : {}),
      ...Object.fromEntries(wrong.map((one) => [`connections.${one}`, texts.wrong.account]))
    }
  }

  const save = async () => {
    const wrong = formMistakes(texts, settings, values)
    show(wrong)
    if (Object.keys(wrong).length > 0) return
    setBusy(true)
    try {
      const { id, status } = (await send()).data
      parent.post("svc:installation-updated", { installationId: id, integration: slug, status })
      countUp(setUps)
      notice.set(installed === null ? texts.isSetUp(title) : texts.saved(title))
      return view.set({ name: "home" })
    } catch (cause) {
      const error = asPanelError(cause)
      if (error.status === 409 || error.status === 404) setConflict(error)
      else show(refused(error))
    }
    setBusy(false)
  }

  return (
    <EntryForm form={form} isBusy={isBusy} submit={save}>
      <Wrong text={mistakes["form"]} />
      {found.map((connector) => (
        <AccountChoice
          key={connector.slug}
          session={session}
          connector={connector}
          chosen={chosen.get(connector.slug) ?? ""}
          choose={(id) => choose(connector.slug, id)}
          hidden={hiddenAccount(installed, connector)}
          mistake={mistakes[`connections.${connector.slug}`]}
          connect={() =>
            view.set({
              name: "connect",
              connector: connector.slug,
              account: null,
              after: { name: "setUp", integration: slug, draft: entered }
            })
          }
        />
      ))}
      <SchemaFields form={settings} values={values} mistakes={mistakes} change={setValues} />
      <div class="actions">
        <button type="submit" aria-disabled={isBusy}>
          {installed === null ? texts.setUp : texts.save}
        </button>
        <button type="button" class="quiet" onClick={() => view.set({ name: "home" })}>
          {texts.cancel}
        </button>
      </div>
    </EntryForm>
  )
}

/** Reads whether it is set up, and how. What is read is what the form begins with. */
const ReadSetUp = (setting: Omit<Setting, "installed" | "reload">) => {
  const { client } = usePanel().session
  const { slug } = setting.integration
  const [read, setRead] = useState<{ readonly installed: SetUpIntegration | null } | PanelError | null>(null)
  const load = useCallback(async () => {
    setRead(null)
    const asked = client.GET("/api/v1/installations", { params: { query: { page_size: 100 } } })
    setRead(
      await bodyOf(asked).then(
        ({ data }) => ({ installed: data.find(({ integration }) => integration === slug) ?? null }),
        asPanelError
      )
    )
  }, [client, slug])
  useEffect(() => void load(), [load])
  if (read === null) return <Loading />
  if (read instanceof PanelError) return <Failure error={read} again={() => void load()} />
  return <SetUpForm {...setting} installed={read.installed} reload={() => void load()} draft={null} />
}

/** `draft`: what was entered before an account was connected. */
export const SetUpView = ({
  draft,
  integration,
  session
}: Pick<Setting, "integration" | "session"> & { readonly draft: SetUpDraft | null }) => {
  const [kept, setKept] = useState(draft)
  const { description, title } = integration
  return (
    <>
      <header>
        <ViewHeading isFocused>{title}</ViewHeading>
      </header>
      {description !== "" && <p class="soft">{description}</p>}
      <AttemptList />
      {kept === null ? (
        <ReadSetUp session={session} integration={integration} />
      ) : (
        <SetUpForm
          session={session}
          integration={integration}
          installed={kept.installed}
          draft={kept}
          reload={() => setKept(null)}
        />
      )}
    </>
  )
}
