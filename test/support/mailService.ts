/** A service in this process with a mail server of the test's own, to which people sign in by mail. */
import { type Running, start } from "./InProcess.js"
import { origin } from "./signIn.js"
import { type SmtpServer, startSmtpServer } from "./smtpServer.js"

export interface MailService {
  readonly svc: Running
  readonly mailbox: SmtpServer
  readonly stop: () => Promise<void>
}

export const startWithMail = async (): Promise<MailService> => {
  const mailbox = await startSmtpServer(["svc", "password"])
  const svc = await start({
    SVC_PUBLIC_URL: origin,
    SVC_EGRESS_ALLOW: "127.0.0.1/32",
    SVC_SMTP_URL: `smtp://svc:password@127.0.0.1:${mailbox.port}?from=svc@example.com&security=none`
  })
  const stop = async () => {
    await svc.stop()
    await mailbox.close()
  }
  return { svc, mailbox, stop }
}
