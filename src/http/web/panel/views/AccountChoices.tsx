/** The accounts that an integration uses: one of each of its connectors. */
import { useCallback, useEffect, useId, useState } from "preact/hooks"
import { asPanelError, type PanelError } from "../session/Errors.js"
import { bodyOf, type PanelClient } from "../session/Session.js"
import { useShared } from "../Store.js"
import { useTexts } from "../texts/Words.js"
import { type Account, mayConnect, mayDo, type ShownSession, usePanel } from "./Panel.js"

/** At most so many pages of accounts are read for each connector. */
const mostPages = 5

/** A connector of an integration with the customer's accounts of it. `name`: `null` if the session does not reach it. */
export interface ConnectorAccounts {
  readonly slug: string
  readonly name: string | null
  readonly accounts: ReadonlyArray<Account>
}

const accountsOf = async (client: PanelClient, connector: string): Promise<ReadonlyArray<Account>> => {
  let all: ReadonlyArray<Account> = []
  let cursor: string | null = ""
  for (let page = 0; page < mostPages && cursor !== null; page++) {
    const query = { connector, page_size: 200, ...(cursor !== "" && { cursor }) }
    const read: { readonly data: Array<Account>; readonly page: { readonly nextCursor: string | null } } = await bodyOf(
      client.GET("/api/v1/connections", { params: { query } })
    )
    all = [...all, ...read.data]
    cursor = read.page.nextCursor
  }
  return all.filter(({ status }) => status !== "pending" && status !== "disconnected")
}

const nameOf = (client: PanelClient, slug: string): Promise<string | null> =>
  bodyOf(client.GET("/api/v1/connectors/{ctr}", { params: { path: { ctr: slug } } })).then(
    ({ data }) => data.name,
    () => null
  )

/** The connectors with their accounts, which are read again after each change. `found`: `null` before. */
export const useConnectorAccounts = (session: ShownSession, slugs: ReadonlyArray<string>) => {
  const { changes, session: panel } = usePanel()
  const { client } = panel
  const change = useShared(changes)
  const [found, setFound] = useState<ReadonlyArray<ConnectorAccounts> | PanelError | null>(null)
  const [seesAccounts, seesNames] = [mayDo(session, "connections", "read"), mayDo(session, "connectors", "read")]
  const asked = slugs.join(" ")
  const load = useCallback(async () => {
    const all = asked === "" ? [] : asked.split(" ")
    return Promise.all(
      all.map(async (slug) => {
        const [name, accounts] = await Promise.all([
          seesNames ? nameOf(client, slug) : null,
          seesAccounts ? accountsOf(client, slug) : []
        ])
        return { slug, name, accounts }
      })
    )
  }, [asked, client, seesAccounts, seesNames])
  const [tries, setTries] = useState(0)
  useEffect(() => {
    let isLast = true
    const take = (next: ReadonlyArray<ConnectorAccounts> | PanelError) => isLast && setFound(next)
    load().then(take, (cause) => take(asPanelError(cause)))
    return () => void (isLast = false)
  }, [load, change, tries, session.id])
  return { found, again: () => setTries(tries + 1) }
}

/** The choice of one account, with a button to connect another. `chosen`: its id, or nothing. */
export const AccountChoice = ({
  choose,
  chosen,
  connect,
  connector,
  hidden,
  mistake,
  session
}: {
  readonly session: ShownSession
  readonly connector: ConnectorAccounts
  readonly chosen: string
  readonly choose: (id: string) => void
  /** The account that is used, if the session does not see it: it is another person's. */
  readonly hidden: string | null
  readonly mistake: string | undefined
  readonly connect: () => void
}) => {
  const texts = useTexts()
  const id = useId()
  const { accounts, name, slug } = connector
  const word = name ?? slug
  const isChoice = accounts.length > 0 || hidden !== null
  const isConnectable = mayConnect(session) && name !== null
  if (!mayDo(session, "connections", "read")) return null
  if (!isChoice && !isConnectable && mistake === undefined) return null
  return (
    <div class="field">
      {isChoice ? <label for={id}>{texts.accountOf(word)}</label> : <span class="label">{texts.accountOf(word)}</span>}
      {isChoice && (
        <select
          id={id}
          value={chosen}
          aria-invalid={mistake !== undefined}
          aria-describedby={mistake === undefined ? undefined : `${id}-wrong`}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          <option value="">{texts.noAccount}</option>
          {hidden !== null && <option value={hidden}>{texts.otherAccount}</option>}
          {accounts.map((one) => (
            <option key={one.id} value={one.id}>
              {one.status === "active" ? one.label : `${one.label} (${texts.status[one.status]})`}
            </option>
          ))}
        </select>
      )}
      {mistake !== undefined && (
        <span class="wrong" id={`${id}-wrong`}>
          {mistake}
        </span>
      )}
      {isConnectable && (
        <div class="actions">
          <button type="button" class="quiet" onClick={connect}>
            {accounts.length === 0 ? texts.connectAccountOf(word) : texts.connectAnotherOf(word)}
          </button>
        </div>
      )}
    </div>
  )
}
