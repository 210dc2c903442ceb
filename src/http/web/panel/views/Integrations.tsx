/** The integrations that the session offers: whether each is set up, and what can be done with it. */
import { useCallback, useRef, useState } from "preact/hooks"
import { asPanelError, type PanelError } from "../session/Errors.js"
import { useListed } from "../session/Pages.js"
import { bodyOf } from "../session/Session.js"
import { useShared } from "../Store.js"
import { errorText, useTexts } from "../texts/Words.js"
import { countUp, type ShownIntegration, type SetUpIntegration, type ShownSession, usePanel } from "./Panel.js"
import { ListEnd, Loading, Removal, Section, Wrong } from "./Pieces.js"

const looks = { active: "state good", paused: "state", needs_connection: "state bad" } as const

/** The settings of an integration that is set up: open, paused and removed. `end`: what is said when a thing was done. */
const useChanges = (installed: SetUpIntegration | undefined, end: (said: string) => void, title: string) => {
  const texts = useTexts()
  const { parent, session, setUps } = usePanel()
  const [error, setError] = useState<PanelError | null>(null)
  // Until the integration is read again: what is known of it is old by then.
  const [busyVersion, setBusyVersion] = useState<number | null>(null)
  if (installed === undefined) return undefined
  const { id, integration, status, version } = installed
  const path = { inst: id }

  const tell = (next: SetUpIntegration["status"] | "uninstalled", said: string) => {
    parent.post("svc:installation-updated", { installationId: id, integration, status: next })
    countUp(setUps)
    end(said)
  }

  const turn = async () => {
    const next = status === "paused" ? ("active" as const) : ("paused" as const)
    setBusyVersion(version)
    setError(null)
    try {
      const asked = session.client.PUT("/api/v1/installations/{inst}", {
        params: { path },
        body: { status: next, version }
      })
      const changed = (await bodyOf(asked)).data
      tell(changed.status, next === "paused" ? texts.paused(title) : texts.switchedOn(title))
    } catch (cause) {
      const refused = asPanelError(cause)
      setError(refused)
      // Somebody else has changed it: what they did is shown beside the refusal.
      if (refused.status === 404 || refused.status === 409) countUp(setUps)
      setBusyVersion(null)
    }
  }

  const remove = () => bodyOf(session.client.DELETE("/api/v1/installations/{inst}", { params: { path } }))
  return {
    error,
    isBusy: busyVersion === version,
    turn,
    remove,
    removed: () => tell("uninstalled", texts.removed(title))
  }
}

const IntegrationRow = ({
  installed,
  integration
}: {
  readonly integration: ShownIntegration
  readonly installed: SetUpIntegration | undefined
}) => {
  const texts = useTexts()
  const { notice, view } = usePanel()
  const [isAsked, setAsked] = useState(false)
  const row = useRef<HTMLLIElement>(null)
  const { description, slug, title } = integration
  const changes = useChanges(installed, notice.set, title)
  const open = () => view.set({ name: "setUp", integration: slug, draft: null })
  const word = installed === undefined ? texts.setUp : texts.settings
  const turnWord = installed?.status === "paused" ? texts.switchOn : texts.pause
  return (
    <li class="row plain" ref={row} tabIndex={-1}>
      <div class="about">
        <strong>{title}</strong>
        {description !== "" && <span class="soft">{description}</span>}
        <span class={installed === undefined ? "soft" : looks[installed.status]}>
          {installed === undefined ? texts.notSetUp : texts.setUpStatus[installed.status]}
        </span>
        {changes !== undefined && changes.error !== null && <Wrong text={errorText(texts, changes.error)} />}
      </div>
      {!isAsked && (
        <div class="actions">
          <button
            type="button"
            class={installed === undefined || installed.status === "needs_connection" ? "" : "quiet"}
            aria-label={`${word}: ${title}`}
            onClick={open}
          >
            {word}
          </button>
          {changes !== undefined && (
            <button
              type="button"
              class="quiet"
              aria-label={`${turnWord}: ${title}`}
              aria-disabled={changes.isBusy}
              onClick={() => !changes.isBusy && void changes.turn()}
            >
              {turnWord}
            </button>
          )}
          {changes !== undefined && (
            <button type="button" class="quiet" aria-label={`${texts.remove}: ${title}`} onClick={() => setAsked(true)}>
              {texts.remove}
            </button>
          )}
        </div>
      )}
      {isAsked && changes !== undefined && (
        <Removal
          question={texts.removeQuestion(title)}
          word={texts.remove}
          remove={changes.remove}
          done={(isRemoved) => {
            setAsked(false)
            // After it is drawn: what had the focus is gone.
            setTimeout(() => row.current?.focus())
            if (isRemoved) changes.removed()
          }}
        />
      )}
    </li>
  )
}

/** The integrations that are set up: a customer has each once. */
export const useSetUps = (sessionId: string) => {
  const { changes, session, setUps } = usePanel()
  const { client } = session
  const change = useShared(changes)
  const setUp = useShared(setUps)
  const load = useCallback(
    (cursor: string | undefined) =>
      bodyOf(client.GET("/api/v1/installations", { params: { query: { page_size: 100, ...(cursor && { cursor }) } } })),
    // The list is read again after each change, also of the accounts, on which it depends whether an integration works.
    [client, change, setUp, sessionId]
  )
  return useListed(load)
}

export const Integrations = ({ session }: { readonly session: ShownSession }) => {
  const texts = useTexts()
  const list = useSetUps(session.id)
  const { error, isLoading, rows } = list
  const isRead = !isLoading && (error === null || rows.length > 0)
  return (
    <Section title={texts.integrations}>
      {isLoading && <Loading />}
      <ul class="rows">
        {isRead &&
          session.features.integrations.map((one) => (
            <IntegrationRow
              key={one.slug}
              integration={one}
              installed={rows.find(({ integration }) => integration === one.slug)}
            />
          ))}
      </ul>
      <ListEnd {...list} />
    </Section>
  )
}
