import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { SetupError } from '../setup-error.js'

type Fetch<Bindings> = (request: Request, bindings: Bindings) => Response | Promise<Response>

/** Lets pages of the origins read the answers. With `credentials`, browsers send cookies, too. */
export function withCors<Bindings extends object | undefined>(
  fetch: Fetch<Bindings>,
  {
    origins,
    credentials = false,
  }: { readonly origins: readonly string[]; readonly credentials?: boolean },
): Fetch<Bindings> {
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
