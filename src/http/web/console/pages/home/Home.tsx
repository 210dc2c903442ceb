/** The first page. */
import { Page } from "../../ui/Page.js"

export const Home = () => <Page title="Home">…</Page>
