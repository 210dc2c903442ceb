/** The accounts of the customer: those of the session's person, and those without a person. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { asPanelError, type PanelError } from "../session/Errors.js"
import { useListed } from "../session/Pages.js"
import { bodyOf } from "../session/Session.js"
import { useShared } from "../Store.js"
import { errorText, useTexts } from "../texts/Words.js"
import { type Account, countUp, mayDo, type ShownSession, usePanel } from "./Panel.js"
import { Icon, ListEnd, Loading, Removal, Section } from "./Pieces.js"

/** What a person does with an account beside looking at it. */
type Doing = "rename" | "disconnect" | null

const Renaming = ({ account, done }: { readonly account: Account; readonly done: (label: string | null) => void }) => {
  const texts = useTexts()
  const { client } = usePanel().session
  const [label, setLabel] = useState(account.label)
  const [error, setError] = useState<PanelError | null>(null)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.select(), [])
  const save = () =>
    bodyOf(
      client.PUT("/api/v1/connections/{conn}", {
        params: { path: { conn: account.id } },
        body: { label: label.trim(), version: account.version }
      })
    ).then(
      () => done(label.trim()),
      (cause) => setError(asPanelError(cause))
    )
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault()
        if (label.trim() !== "") void save()
      }}
    >
      <label>
        {texts.name}
        <input
          ref={input}
          type="text"
          maxLength={200}
          value={label}
          onInput={({ currentTarget }) => setLabel(currentTarget.value)}
        />
      </label>
      {error !== null && (
        <p class="wrong" role="alert">
          {errorText(texts, error)}
        </p>
      )}
      <button type="submit">{texts.save}</button>
      <button type="button" class="quiet" onClick={() => done(null)}>
        {texts.cancel}
      </button>
    </form>
  )
}

const AccountRow = ({ account, session }: { readonly account: Account; readonly session: ShownSession }) => {
  const texts = useTexts()
  const { changes, notice, parent, session: panel, view } = usePanel()
  const [doing, setDoing] = useState<Doing>(null)
  const { accountLabel, connector, label, lastError, scope, status } = account
  const mayChange = mayDo(session, "connections", "update")
  const mayDisconnect = mayDo(session, "connections", "delete") && session.features.disconnect
  // The form for it stands in the connector.
  const mayReconnect = mayChange && mayDo(session, "connectors", "read")
  const works = status === "active"
  const row = useRef<HTMLLIElement>(null)
  const end = (said: string | null, isGone = false) => {
    setDoing(null)
    // After it is drawn: what had the focus is gone.
    setTimeout(() => (isGone ? document.querySelector("h1") : row.current)?.focus())
    if (said === null) return
    notice.set(said)
    countUp(changes)
  }
  return (
    <li class="row" ref={row} tabIndex={-1}>
      <Icon name={connector} iconUrl={null} />
      <div class="about">
        <strong>{label}</strong>
        {accountLabel !== null && accountLabel !== label && <span class="soft">{accountLabel}</span>}
        <span class={works ? "state good" : "state bad"}>
          {texts.status[status]}
          {scope === "customer" && session.userId !== null && ` · ${texts.shared}`}
        </span>
        {!works && lastError !== null && <span class="soft">{lastError}</span>}
      </div>
      {doing === null && (
        <div class="actions">
          {mayReconnect && (
            <button
              type="button"
              class={works ? "quiet" : ""}
              aria-label={texts.reconnectTo(label)}
              onClick={() => view.set({ name: "connect", connector, account })}
            >
              {texts.reconnect}
            </button>
          )}
          {mayChange && (
            <button
              type="button"
              class="quiet"
              aria-label={`${texts.rename}: ${label}`}
              onClick={() => setDoing("rename")}
            >
              {texts.rename}
            </button>
          )}
          {mayDisconnect && (
            <button
              type="button"
              class="quiet"
              aria-label={`${texts.disconnect}: ${label}`}
              onClick={() => setDoing("disconnect")}
            >
              {texts.disconnect}
            </button>
          )}
        </div>
      )}
      {doing === "rename" && (
        <Renaming account={account} done={(name) => end(name === null ? null : texts.renamed(name))} />
      )}
      {doing === "disconnect" && (
        <Removal
          question={texts.disconnectQuestion(label)}
          word={texts.disconnect}
          remove={() =>
            bodyOf(panel.client.DELETE("/api/v1/connections/{conn}", { params: { path: { conn: account.id } } }))
          }
          done={(isDisconnected) => {
            if (isDisconnected) parent.post("svc:connection-removed", { connectionId: account.id, connector })
            end(isDisconnected ? texts.disconnected(label) : null, isDisconnected)
          }}
        />
      )}
    </li>
  )
}

export const Accounts = ({ session }: { readonly session: ShownSession }) => {
  const texts = useTexts()
  const { changes, session: panel } = usePanel()
  const { client } = panel
  const change = useShared(changes)
  const load = useCallback(
    (cursor: string | undefined) =>
      bodyOf(client.GET("/api/v1/connections", { params: { query: { page_size: 50, ...(cursor && { cursor }) } } })),
    // The list is read again after each change.
    [client, change, session.id]
  )
  const list = useListed(load)
  const { error, hasMore, isLoading, rows } = list
  // One that is not finished is an attempt, which is shown as that.
  const shown = rows.filter(({ status }) => status !== "pending")
  return (
    <Section title={texts.accounts}>
      {isLoading && <Loading />}
      {!isLoading && shown.length === 0 && !hasMore && error === null && <p class="soft">{texts.noAccounts}</p>}
      <ul class="rows">
        {shown.map((one) => (
          <AccountRow key={one.id} account={one} session={session} />
        ))}
      </ul>
      <ListEnd {...list} />
    </Section>
  )
}
