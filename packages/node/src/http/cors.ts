import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { requireKnownOptions } from '../known-options.js'
import { SetupError } from '../setup-error.js'

export type CorsOptions = { readonly origins: readonly string[] }

const OPTIONS: Readonly<Record<keyof CorsOptions, true>> = { origins: true }

type Fetch<Bindings> = (request: Request, bindings: Bindings) => Response | Promise<Response>

/** Lets pages of the origins read the answers. With `credentials`, browsers send cookies, too. */
export function withCors<Bindings extends object | undefined>(
  fetch: Fetch<Bindings>,
  options: CorsOptions,
  credentials = false,
): Fetch<Bindings> {
  requireKnownOptions(options, OPTIONS)
  const { origins } = options
  if (!Array.isArray(origins)) throw new SetupError('cors must be { origins: [<origin>, …] }', 2)
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)
  if (wrong !== undefined)
    throw new SetupError(
      `cors.origins has ${JSON.stringify(wrong)}; use origins such as https://app.example`,
      2,
    )
  const app = new Hono()
  app.use(
    cors({
      origin: [...origins],
      credentials,
      exposeHeaders: EXPOSED,
      maxAge: 600,
    }),
  )
  app.all('*', (c) => fetch(c.req.raw, c.env as Bindings))
  return (request, bindings) => app.fetch(request, bindings)
}

/** Browsers hide other headers from pages of other origins. */
const EXPOSED = [
  'Idempotent-Replayed',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
]
