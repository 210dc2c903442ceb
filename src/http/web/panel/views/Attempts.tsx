/** The attempts to sign in that the panel waits for, and those that were in vain. */
import type { SignInAttempt } from "../connect/Attempts.js"
import { useShared } from "../Store.js"
import { useTexts } from "../texts/Words.js"
import { usePanel } from "./Panel.js"

const AttemptRow = ({ connectUrl, error, id, isBlocked, status, target }: SignInAttempt) => {
  const texts = useTexts()
  const { attempts } = usePanel()
  const { name } = target
  if (status !== "waiting")
    return (
      <li class="attempt failure">
        <div role="alert">
          <p>{status === "expired" ? texts.expiredAttempt(name) : texts.notConnected(name)}</p>
          {error !== null && <p>{error}</p>}
        </div>
        <button type="button" class="quiet" onClick={() => attempts.dismiss(id)}>
          {texts.dismiss}
        </button>
      </li>
    )
  return (
    <li class="attempt">
      <p role="status">{isBlocked ? texts.blocked(name) : texts.waiting(name)}</p>
      {connectUrl !== null && (
        <a href={connectUrl} target="_blank" rel="noopener noreferrer">
          {texts.openSignIn(name)}
        </a>
      )}
      <button type="button" class="quiet" onClick={() => attempts.dismiss(id)}>
        {texts.stopWaiting}
      </button>
    </li>
  )
}

export const AttemptList = () => {
  const all = useShared(usePanel().attempts.all)
  if (all.length === 0) return null
  return (
    <ul class="attempts">
      {all.map((one) => (
        <AttemptRow key={one.id} {...one} />
      ))}
    </ul>
  )
}
