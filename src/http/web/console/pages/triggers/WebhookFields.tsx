/** The settings of a webhook: who may send, how requests are verified, and in which order their runs start. */
import { Check, Select, TextField } from "../../ui/Field.js"
import type { TriggerForm, VerifyForm } from "./triggerForm.js"

type Webhook = TriggerForm["webhook"]
interface Props {
  readonly webhook: Webhook
  readonly put: (part: Partial<Webhook>) => void
  readonly wrong: (path: string) => string | undefined
}

export const WebhookFields = ({ put, webhook, wrong }: Props) => (
  <div className="stack">
    <div className="columns">
      <Select
        label="Who may send"
        value={webhook.auth}
        onChange={(auth) => put({ auth })}
        options={[
          ["access_key", "Who has the access key"],
          ["public", "Everybody; verify the signature below"]
        ]}
        wrong={wrong("webhook.auth")}
      />
      <Select
        label="Answer"
        value={webhook.respond}
        onChange={(respond) => put({ respond })}
        options={[
          ["ack", "202 when the event is stored"],
          ["result", "The result of the run, if one route matches"]
        ]}
        wrong={wrong("webhook.respond")}
      />
      <Select
        label="Order"
        value={webhook.executionMode}
        onChange={(executionMode) => put({ executionMode })}
        options={[
          ["parallel", "All runs at once"],
          ["sequential", "One run after the other"]
        ]}
        wrong={wrong("webhook.executionMode")}
      />
      {webhook.executionMode === "sequential" && (
        <TextField
          label="One after the other for each value at"
          hint="A path into the payload, such as order.id. Empty: all."
          value={webhook.partitionKey}
          onChange={(partitionKey) => put({ partitionKey })}
          wrong={wrong("webhook.partitionKey")}
        />
      )}
      <TextField
        label="Recognise repetitions by the value at"
        hint="A path into the payload, such as orderId. Empty: by the delivery's id or its content."
        value={webhook.deduplicationKey}
        onChange={(deduplicationKey) => put({ deduplicationKey })}
        wrong={wrong("webhook.deduplicationKey")}
      />
      <Select
        label="Integers beyond 2^53 arrive as"
        value={webhook.bigIntegers}
        onChange={(bigIntegers) => put({ bigIntegers })}
        options={[
          ["number", "Numbers, which are rounded"],
          ["text", "Text, which is exact"]
        ]}
        wrong={wrong("webhook.bigIntegers")}
      />
    </div>
    <VerifyFields
      verify={webhook.verify}
      put={(part) => put({ verify: { ...webhook.verify, ...part } })}
      wrong={wrong}
    />
  </div>
)

const ways = [
  ["", "Not verified"],
  ["standard-webhooks", "Standard Webhooks"],
  ["stripe", "Stripe"],
  ["slack", "Slack"],
  ["github", "GitHub"],
  ["shopify", "Shopify"],
  ["svc", "svc"],
  ["hmac", "Another HMAC signature"],
  ["token", "A token in a header"],
  ["standard", "Standard Webhooks, with own settings"],
  ["none", "None: only the time is checked"]
] as const

const texts = [
  ["header", "Header of the signature or token"],
  ["prefix", "Text before the signature"],
  ["payload", "Signed text, such as {timestamp}.{body}"],
  ["timestampHeader", "Header of the time"],
  ["idHeader", "Header of the delivery's id"]
] as const

const VerifyFields = ({
  put,
  verify,
  wrong
}: {
  readonly verify: VerifyForm
  readonly put: (part: Partial<VerifyForm>) => void
  readonly wrong: (path: string) => string | undefined
}) => (
  <fieldset className="stack">
    <legend>Signature</legend>
    <Select
      label="How requests are verified"
      value={verify.how}
      onChange={(how) => put({ how })}
      options={ways}
      wrong={wrong("webhook.verify") ?? wrong("webhook.verify.scheme") ?? wrong("webhook.verify.preset")}
    />
    {verify.how !== "" && (
      <>
        <div className="columns">
          <TextField
            label="Name of the secret"
            hint="One of Secrets, such as GITHUB_WEBHOOK."
            value={verify.secretName ?? ""}
            onChange={(secretName) => put({ secretName })}
            wrong={wrong("webhook.verify.secretName")}
          />
          <TextField
            type="number"
            label="Oldest request in seconds"
            value={String(verify.maxAgeSeconds ?? 300)}
            onChange={(value) => put({ maxAgeSeconds: Number(value) })}
            wrong={wrong("webhook.verify.maxAgeSeconds")}
          />
        </div>
        <details>
          <summary>Further settings, which override those of a provider</summary>
          <div className="columns">
            {texts.map(([name, label]) => (
              <TextField
                key={name}
                label={label}
                value={verify[name] ?? ""}
                onChange={(value) => put({ [name]: value })}
                wrong={wrong(`webhook.verify.${name}`)}
              />
            ))}
            <Select
              label="Algorithm"
              none="That of the way"
              value={verify.algorithm ?? ""}
              onChange={(algorithm) => put({ algorithm: algorithm as "sha256" })}
              options={["sha256", "sha1", "sha512"]}
              wrong={wrong("webhook.verify.algorithm")}
            />
            <Select
              label="Encoding"
              none="That of the way"
              value={verify.encoding ?? ""}
              onChange={(encoding) => put({ encoding: encoding as "hex" })}
              options={["hex", "base64"]}
              wrong={wrong("webhook.verify.encoding")}
            />
            <Select
              label="Format of the time"
              none="That of the way"
              value={verify.timestampFormat ?? ""}
              onChange={(timestampFormat) => put({ timestampFormat: timestampFormat as "unix" })}
              options={["unix", "ms", "iso"]}
              wrong={wrong("webhook.verify.timestampFormat")}
            />
          </div>
          <Check checked={verify.clientSecret ?? false} onChange={(clientSecret) => put({ clientSecret })}>
            With the secret of the OAuth client
          </Check>
          <Check
            checked={verify.subscriptionSecret ?? false}
            onChange={(subscriptionSecret) => put({ subscriptionSecret })}
          >
            With the secret of the subscription
          </Check>
        </details>
      </>
    )}
  </fieldset>
)
