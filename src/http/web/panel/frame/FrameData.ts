/** What the service wrote into the page, and the token of its address, which is removed from there first. */
import type { EmbedFrame } from "../../../../domain/access/EmbedFrame.js"

/** The token, which from now on only this script has. It is no part of the address, the history or a referrer. */
export const takeToken = (): string => {
  const { hash, pathname, search } = location
  history.replaceState(null, "", pathname + hash)
  return new URLSearchParams(search).get("token") ?? ""
}

/** What the service wrote into the page. */
export const readFrame = (): EmbedFrame => {
  const content = document.querySelector('meta[name="svc-panel"]')?.getAttribute("content")
  return JSON.parse(content ?? "") as EmbedFrame
}
