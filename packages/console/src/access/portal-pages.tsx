import type { PortalSession } from '@org/agent-messaging-core/storage'
import { type PageRequest, BASE } from '../context.js'

export const PORTAL = `${BASE}/portal`

/** The pages that each permission opens, by the first part of the path behind `BASE`. */
const PAGES: Readonly<Record<PortalSession['permissions'][number], readonly string[]>> = {
  'project:webhooks': ['webhooks', 'events', 'deliveries', 'recover', 'recoveries', 'search'],
  'project:message': ['conversations', 'sessions', 'messages', 'questions', 'people', 'search'],
}
/** Only the platform decides to erase a customer's data. */
const NEVER = /^\/console\/(?:sessions\/[^/]+|people)\/erase$/

/** Tells whether a portal session can open a page. A new page is closed until `PAGES` names it. */
export const isPortalPath = (path: string, permissions: PortalSession['permissions']) => {
  const [page = ''] = path.slice(BASE.length + 1).split('/')
  return !NEVER.test(path) && permissions.some((one) => PAGES[one].includes(page))
}

/** Returns true if the request belongs to an open or ended portal session, or opens a session. */
export const isPortalRequest = (c: PageRequest) =>
  c.get('portalId') !== undefined || c.req.path === PORTAL

/** In a frame, the link replaces the page that contains the frame. */
export const ReturnLink = ({ to }: { readonly to: string }) => (
  <a href={to} target="_top">
    Back to {new URL(to).host}
  </a>
)
