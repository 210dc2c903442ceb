/** Connects an account, or connects one again: by a form, or by signing in at the provider in a window. */
import { useCallback, useEffect, useState } from "preact/hooks"
import { type ConnectMethod, refusedMistakes, requestOf } from "../connect/FormValues.js"
import { enteredMistakes, type FormValues, initialValues } from "../forms/Form.js"
import { asPanelError, type PanelError } from "../session/Errors.js"
import { bodyOf, type PanelSchemas } from "../session/Session.js"
import { errorText, useTexts } from "../texts/Words.js"
import { FormFields } from "./FormFields.js"
import { type Account, countUp, usePanel, type View } from "./Panel.js"
import { EntryForm, Failure, Icon, Loading, ViewHeading, useMistakes } from "./Pieces.js"

type Connector = PanelSchemas["EmbeddedConnector"]

/** The connector with its forms. */
const useConnector = (slug: string) => {
  const { client } = usePanel().session
  const [found, setFound] = useState<Connector | PanelError | null>(null)
  const load = useCallback(async () => {
    setFound(null)
    const asked = client.GET("/api/v1/connectors/{ctr}", { params: { path: { ctr: slug } } })
    setFound(await bodyOf(asked).then(({ data }) => data, asPanelError))
  }, [client, slug])
  useEffect(() => void load(), [load])
  return { found, load }
}

/** What is filled in: to connect again only what the provider asks for, since the rest stays. */
const fieldsOf = (method: ConnectMethod, account: Account | null) =>
  account === null ? method.fields : method.fields.filter(({ name }) => name.startsWith("credential."))

const MethodChoice = ({
  chosen,
  choose,
  methods
}: {
  readonly methods: ReadonlyArray<ConnectMethod>
  readonly chosen: ConnectMethod
  readonly choose: (id: string) => void
}) => (
  <fieldset>
    <legend>{useTexts().method}</legend>
    {methods.map(({ description, id, title }) => (
      <label key={id} class="tick">
        <input type="radio" name="method" checked={id === chosen.id} onChange={() => choose(id)} />
        <span>
          {title ?? id}
          {description !== null && <span class="hint">{description}</span>}
        </span>
      </label>
    ))}
  </fieldset>
)

interface Connecting {
  readonly account: Account | null
  /** What is shown then. */
  readonly after: View
}

const ConnectForm = ({ account, after, connector }: Connecting & { readonly connector: Connector }) => {
  const texts = useTexts()
  const { attempts, changes, notice, parent, session, view } = usePanel()
  const { authMethods: methods, name, slug } = connector
  const usual = methods.find(({ id }) => id === account?.authMethod) ?? methods.find((one) => one.default) ?? methods[0]
  const [methodId, setMethodId] = useState(usual?.id)
  const method = methods.find(({ id }) => id === methodId) ?? usual
  const fields = method === undefined ? [] : fieldsOf(method, account)
  const [values, setValues] = useState<FormValues>(() => initialValues(methods.flatMap((one) => one.fields)))
  const { form, mistakes, show } = useMistakes()
  const [isBusy, setBusy] = useState(false)
  if (method === undefined) return <p>{texts.cannotConnect(name)}</p>

  const ask = async () => {
    const body = { authMethod: method.id, ...requestOf(fields, values) }
    return bodyOf(
      account === null
        ? session.client.POST("/api/v1/connections", { body: { connector: slug, ...body } })
        : session.client.POST("/api/v1/connections/{conn}/reconnect", {
            params: { path: { conn: account.id } },
            body
          })
    ).then(({ data }) => data)
  }

  const enter = async () => {
    const { id } = await ask()
    parent.post("svc:connection-created", { connectionId: id, connector: slug })
    countUp(changes)
    notice.set(texts.connected(name))
  }

  const submit = async () => {
    const found = enteredMistakes(texts, fields, values)
    if (Object.keys(found).length > 0) return show(found)
    show({})
    setBusy(true)
    try {
      // The window is opened before anything is waited for: only then do browsers count it to the click.
      await (method.signsIn ? attempts.begin({ connector: slug, name }, ask) : enter())
      view.set(after)
    } catch (cause) {
      const error = asPanelError(cause)
      show(error.status === 422 ? refusedMistakes(texts, name, fields, error) : { form: errorText(texts, error) })
      parent.post("svc:connection-error", {
        connectionId: account?.id ?? null,
        connector: slug,
        message: error.message
      })
    }
    setBusy(false)
  }

  return (
    <EntryForm form={form} isBusy={isBusy} submit={submit}>
      {methods.length > 1 && account === null && (
        <MethodChoice
          methods={methods}
          chosen={method}
          choose={(id) => {
            setMethodId(id)
            show({})
          }}
        />
      )}
      {mistakes["form"] !== undefined && (
        <p class="wrong" role="alert">
          {mistakes["form"]}
        </p>
      )}
      <FormFields fields={fields} values={values} mistakes={mistakes} change={setValues} />
      <div class="actions">
        <button type="submit" aria-disabled={isBusy}>
          {method.signsIn ? texts.signInAt(name) : account === null ? texts.connect : texts.reconnect}
        </button>
        <button type="button" class="quiet" onClick={() => view.set(after)}>
          {texts.cancel}
        </button>
      </div>
    </EntryForm>
  )
}

/** `account`: the one that is connected again. */
export const ConnectView = ({ account, after, slug }: Connecting & { readonly slug: string }) => {
  const texts = useTexts()
  const { view } = usePanel()
  const { found, load } = useConnector(slug)
  if (found === null) return <Loading />
  if (found instanceof Error)
    return (
      <>
        <Failure error={found} again={() => void load()} />
        <button type="button" class="quiet" onClick={() => view.set(after)}>
          {texts.back}
        </button>
      </>
    )
  return (
    <>
      <header>
        <Icon name={found.name} iconUrl={found.iconUrl} />
        <ViewHeading isFocused>
          {account === null ? texts.connectTo(found.name) : texts.reconnectTo(account.label)}
        </ViewHeading>
      </header>
      {found.description !== "" && <p class="soft">{found.description}</p>}
      <ConnectForm key={found.slug} connector={found} account={account} after={after} />
    </>
  )
}
