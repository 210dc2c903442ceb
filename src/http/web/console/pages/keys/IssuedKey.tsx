/** The text of a new key, which no one can show again, with a request that works. */
import type { ApiSchemas } from "../../api/Client.js"
import { Button } from "../../ui/Button.js"
import { CopyText, useCopy } from "../../ui/CopyText.js"

export const IssuedKey = ({ issued }: { readonly issued: ApiSchemas["IssuedApiKey"] }) => {
  const { copy, isCopied } = useCopy()
  const test = issued.mode === "test" ? " \\\n  -H 'x-svc-test-mode: true'" : ""
  const command = `curl ${location.origin}/api/v1/me \\\n  -H 'authorization: Bearer ${issued.key}'${test}`
  return (
    <div className="stack">
      <div className="notice warn">
        <p>This is the only time that the key is shown. Store it where your program reads its secrets.</p>
      </div>
      <CopyText text={issued.key} />
      {issued.hmacSecret !== null && (
        <p>
          Secret for the signatures of callers: <CopyText text={issued.hmacSecret} />
        </p>
      )}
      <section aria-label="A request that works">
        <h3>A request that works</h3>
        <pre className="value" tabIndex={0}>
          {command}
        </pre>
        <Button size="small" onClick={() => copy(command)}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </section>
    </div>
  )
}
