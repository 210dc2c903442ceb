/** Pictures that the API draws: asked with the page's own headers, since an image's request has none and would not name the organisation. */
import { useQuery } from "@tanstack/react-query"
import { ApiError, ownHeaders } from "../api/Client.js"

/** The picture as the source of an `<img>`, in which nothing of it runs. `state`: what it is drawn from, besides the address. */
export const useOwnImage = (address: string, state: string) =>
  useQuery<string, ApiError>({
    queryKey: ["picture", address, state],
    queryFn: async ({ signal }) => {
      const answer = await fetch(address, { headers: ownHeaders(), signal })
      if (answer.ok) return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await answer.text())}`
      const body = (await answer.json().catch(() => undefined)) as { readonly message?: string } | undefined
      throw new ApiError(answer.status, body, `The service answered ${answer.status}.`)
    }
  })
