import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { secureHeaders } from 'hono/secure-headers'
import { agentRoutes } from './agents.js'
import { assetRoutes } from './assets.js'
import { createCatcher } from './catcher.js'
import { catcherRoutes } from './catcher-page.js'
import { deletionRoutes } from './deletion.js'
import { deliveryRoutes } from './deliveries.js'
import { showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE, type ConsoleOptions } from './options.js'
import { overviewRoutes } from './overview.js'
import { recoverRoutes } from './recover.js'
import { sessionRoutes } from './sessions.js'
import { requireSession, signInRoutes } from './sign-in.js'
import { signInLinks } from './sign-in-links.js'
import { webhookEditRoutes } from './webhook-edit.js'
import { webhookRoutes } from './webhooks.js'

export type { ConsoleOptions } from './options.js'

export type Console = {
  readonly fetch: (request: Request) => Response | Promise<Response>
  /** A path that signs in with this key: once, and within 15 minutes. */
  signInPath(key: string): string
}

/** The longest message and its metadata have three quarters of that, if each of their characters has nine bytes in the form. */
const MAX_BODY_BYTES = 1024 * 1024

/** Nothing but what this server serves is loaded, run or sent anywhere; nobody frames it. */
const policy = {
  ...{
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
  },
  ...{ formAction: ["'self'"], baseUri: ["'none'"], frameAncestors: ["'none'"] },
}

/**
 * The operator's pages, all of them under `/console`: serve its `fetch` for what begins so. They do what the API does, through the
 * same use cases, with the project and the permissions of the key that one signs in with.
 */
export function createConsole(options: ConsoleOptions): Console {
  const { publicUrl = () => undefined, catcher, ...rest } = options
  const links = signInLinks(options)
  const d: ConsoleDeps = {
    ...rest,
    publicUrl,
    links,
    catcher: catcher ? createCatcher(options) : undefined,
  }
  const app = new Hono<Env>()
  app.onError((error, c) => {
    if ('getResponse' in error) return error.getResponse()
    if (hasLeft(error)) return c.body(null, 400)
    d.onError?.(error)
    return showProblem(c, 500, 'Something went wrong on our side')
  })
  app.notFound((c) => {
    const { pathname, search } = new URL(c.req.url)
    const withoutSlash = pathname.replace(/\/+$/, '')
    return withoutSlash === pathname
      ? showProblem(c, 404, 'There is nothing at this address')
      : c.redirect(withoutSlash + search)
  })
  // Receivers are called by the service, without a session: theirs is before everything that a page needs.
  if (d.catcher) app.route('/', d.catcher.routes)
  app.use(
    secureHeaders({
      contentSecurityPolicy: policy,
      referrerPolicy: 'same-origin',
      xFrameOptions: 'DENY',
      strictTransportSecurity: false,
    }),
  )
  app.use(async (c, next) => {
    c.set('hasCatcher', d.catcher !== undefined)
    await next()
    if (!c.res.headers.has('Cache-Control')) c.res.headers.set('Cache-Control', 'no-store')
  })
  app.use(
    csrf({
      origin: (origin, c) => [new URL(c.req.url).origin, originOf(publicUrl())].includes(origin),
    }),
  )
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
  app.route('/', assetRoutes())
  app.route('/', signInRoutes(d))
  app.use(requireSession(d))
  app.route('/', overviewRoutes(d))
  app.route('/', agentRoutes(d))
  app.route('/', sessionRoutes(d))
  app.route('/', deletionRoutes(d))
  app.route('/', webhookEditRoutes(d))
  app.route('/', webhookRoutes(d))
  app.route('/', recoverRoutes(d))
  app.route('/', deliveryRoutes(d))
  app.route('/', catcherRoutes(d))
  return { fetch: (request) => app.fetch(request), signInPath: links.make }
}

/** Who sent the request has gone in the middle of it: that is nobody's defect, and anybody may do it. */
const hasLeft = (error: Error): boolean => 'code' in error && error.code === 'ECONNRESET'

const originOf = (url: string | undefined): string | undefined =>
  url === undefined ? undefined : new URL(url).origin

/** Whether a path is the console's. */
export const isConsolePath = (path: string): boolean => path === BASE || path.startsWith(`${BASE}/`)
