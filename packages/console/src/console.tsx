import { errorIn, isRefusal } from '@org/agent-messaging-core/host'
import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { secureHeaders } from 'hono/secure-headers'
import { agentPageRoutes } from './agent-page.js'
import { agentRoutes } from './agents.js'
import { auditLogRoutes } from './access/audit-log.js'
import { assets, filesOfLook } from './assets.js'
import { confirmRoutes } from './confirm.js'
import { createCatcher } from './webhooks/catcher.js'
import { catcherRoutes } from './webhooks/catcher-page.js'
import { deletionRoutes } from './deletion.js'
import { downloads } from './downloads.js'
import { deliveryRoutes } from './deliveries/deliveries.js'
import { showProblem, showError } from './parts/layout.js'
import { type ConsoleDeps, type Env, newRoutes, BASE, type ConsoleOptions } from './context.js'
import { keyRoutes } from './access/keys.js'
import { liveRoutes } from './messages/live.js'
import { messageRoutes } from './messages/messages.js'
import { countsQuestions } from './messages/open-questions.js'
import { failureRoutes } from './failures.js'
import { overviewRoutes } from './overview.js'
import { projectRoutes } from './access/projects.js'
import { idIn, servePortal } from './access/portal.js'
import { portalRoutes } from './access/portal-link.js'
import { peopleRoutes } from './messages/people.js'
import { questionRoutes } from './messages/question-pages.js'
import { recoverRoutes } from './deliveries/recover.js'
import { retryFailedRoutes } from './messages/retry-failed.js'
import { searchRoutes } from './search.js'
import { sessionRoutes } from './messages/sessions.js'
import { requireSession, requireShownProject, signInRoutes } from './access/sign-in.js'
import { signInLinks } from './access/sign-in-links.js'
import { usageRoutes } from './usage.js'
import { eventRoutes } from './webhooks/event-list.js'
import { readEventTypes } from './webhooks/events.js'
import { webhookEditRoutes, webhookRoutes } from './webhooks/webhooks.js'

export type { ConsoleOptions } from './context.js'

export type Console = {
  readonly fetch: (request: Request) => Response | Promise<Response>
  /** Returns a path that signs in with this key, once, within 15 minutes. */
  signInPath(key: string): string
}

/**
 * A form can take nine bytes per character. The longest message with its metadata needs 3/4 of
 * this.
 */
const MAX_BODY_BYTES = 1024 * 1024

/** Browsers load, run and send only to this server. */
const policyFor = (frameAncestors: readonly string[]) => ({
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: [...frameAncestors],
})

/**
 * Creates the pages for operators. Serve its `fetch` for all paths under `/console`. The pages call
 * the same use cases as the API, with the project and the permissions of the signed-in API key.
 */
export function createConsole(options: ConsoleOptions): Console {
  const { publicUrl = () => undefined, catcher, portal, ...rest } = options
  const links = signInLinks(options)
  const d: ConsoleDeps = {
    ...rest,
    publicUrl,
    links,
    portal: { look: {}, frameOrigins: [], ...portal },
    catcher: catcher ? createCatcher(options) : undefined,
  }
  const app = newRoutes()
  app.onError((error, c) => {
    if ('getResponse' in error) return error.getResponse()
    if (isSenderGone(error)) return c.body(null, 400)
    if (isRefusal(error)) return showError(c, errorIn(error))
    d.onError?.(error)
    return showProblem(c, 500, 'The service failed unexpectedly')
  })
  app.notFound((c) => {
    const { pathname, search } = new URL(c.req.url)
    const withoutSlash = pathname.replace(/\/+$/, '')
    return withoutSlash === pathname
      ? showProblem(c, 404, 'Page not found')
      : c.redirect(withoutSlash + search)
  })
  app.use((c, next) => {
    c.set('now', d.service.host.now)
    return next()
  })
  // The service calls the catcher without a session, so its route comes before the middleware of
  // pages.
  if (d.catcher) app.route(BASE, d.catcher.routes)
  app.use(limitFrames(d))
  const { look } = d.portal
  const files = filesOfLook(look)
  const { logo: logoUrl, 'style.css': styleUrl } = files.urls
  const shownLook = { name: look.name, logoUrl, styleUrl }
  app.use(async (c, next) => {
    c.set('look', shownLook)
    await next()
    if (!c.res.headers.has('Cache-Control')) c.res.headers.set('Cache-Control', 'no-store')
  })
  const isOwn = (origin: string, url: string) =>
    [new URL(url).origin, originOf(publicUrl())].includes(origin)
  app.use(csrf({ origin: (origin, c) => isOwn(origin, c.req.url) }))
  // `csrf` checks only the content types of forms.
  app.use(async (c, next) => {
    const origin = c.req.header('origin')
    const isForeign = origin !== undefined && !isOwn(origin, c.req.url)
    if (isForeign && !['GET', 'HEAD'].includes(c.req.method))
      return showProblem(c, 403, 'Another site sent this request')
    return next()
  })
  app.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (c) => showProblem(c, 413, 'The form is too large'),
    }),
  )
  app.use(async (c, next) => {
    try {
      await c.req.parseBody()
    } catch (error) {
      if (error instanceof TypeError) return showProblem(c, 400, 'The form cannot be read')
      throw error
    }
    return next()
  })
  app.route(BASE, assets.routes)
  app.route(BASE, files.routes)
  app.route(BASE, portalRoutes(d))
  app.route(BASE, signInRoutes(d))
  app.use(servePortal(d))
  app.use(requireSession(d))
  app.use(requireShownProject)
  app.use(countsQuestions(d))
  app.use(downloads(d, app))
  app.route('/', pageRoutes(d))
  return { fetch: (request) => app.fetch(request, {}), signInPath: links.make }
}

/**
 * Allows frames of the configured origins for a browser that has a portal session, open or ended.
 * Such a browser gets no page of an operator, except the form to sign in.
 */
function limitFrames(d: ConsoleDeps): MiddlewareHandler<Env> {
  const { frameOrigins } = d.portal
  const closed = headersFor(["'none'"])
  const framed = frameOrigins.length > 0 ? headersFor(["'self'", ...frameOrigins]) : closed
  return async (c, next) => {
    c.set('portalId', idIn(c, d))
    await next()
    // A link that opened a session has set the id.
    await (c.get('portalId') === undefined ? closed : framed)(c, () => Promise.resolve())
  }
}

/** Allows pages in no frame, or in frames of the origins. */
const headersFor = (frameAncestors: readonly string[]) =>
  secureHeaders({
    contentSecurityPolicy: policyFor(frameAncestors),
    referrerPolicy: 'same-origin',
    xFrameOptions: frameAncestors.length === 1 ? 'DENY' : false,
    strictTransportSecurity: false,
  })

/** The pages that need a session. */
const PAGES = [
  overviewRoutes,
  failureRoutes,
  agentRoutes,
  agentPageRoutes,
  usageRoutes,
  searchRoutes,
  messageRoutes,
  questionRoutes,
  peopleRoutes,
  liveRoutes,
  retryFailedRoutes,
  sessionRoutes,
  confirmRoutes,
  deletionRoutes,
  webhookEditRoutes,
  webhookRoutes,
  eventRoutes,
  recoverRoutes,
  deliveryRoutes,
  catcherRoutes,
  keyRoutes,
  auditLogRoutes,
  projectRoutes,
]

export function pageRoutes(d: ConsoleDeps) {
  const routes = newRoutes()
    .basePath(BASE)
    .use('/webhooks/*', readEventTypes(d))
    .use('/events/*', readEventTypes(d))
  for (const pages of PAGES) routes.route('/', pages(d))
  return routes
}

/** The sender closed the connection in the middle of the request. This is not a defect. */
const isSenderGone = (error: Error) => 'code' in error && error.code === 'ECONNRESET'

const originOf = (url: string | undefined) => (url === undefined ? undefined : new URL(url).origin)
