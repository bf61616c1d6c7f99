import type { Instant } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import type { Answering, Caught, Catcher, WebhookUpdate } from './catcher.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { CopyButton, Empty, Id, refreshed, Status, Time, type Tone } from './parts.js'
import { problemStatus, problemText } from './problem.js'
import { need } from './sign-in.js'

const STATUSES = [200, 204, 302, 400, 401, 404, 410, 429, 500, 503]
const DELAYS_MS = [0, 1_000, 5_000, 20_000]

/** What the catcher got, and what it answers. */
export function catcherRoutes({ service, catcher, publicUrl }: ConsoleDeps) {
  const routes = new Hono<Env>()
  if (!catcher) return routes
  const urlOf = (projectId: string, ownUrl: string): string =>
    `${publicUrl() ?? new URL(ownUrl).origin}${catcher.pathOf(projectId)}`
  return routes
    .use(`${BASE}/catcher/*`, need('project:webhooks'))

    .get(`${BASE}/catcher`, async (c) => {
      const { projectId } = c.get('apiKey')
      const url = urlOf(projectId, c.req.url)
      const webhooks = await service.webhooks.list(projectId, { limit: 100 })
      if (webhooks.isErr())
        return showProblem(c, problemStatus(webhooks.error), problemText(webhooks.error))
      const isRegistered = webhooks.value.data.some((webhook) => webhook.url === url)
      return show(
        c,
        { title: 'Catcher', section: 'Catcher' },
        <CatcherPage
          url={url}
          isRegistered={isRegistered}
          caught={catcher.caughtBy(projectId)}
          answering={catcher.answering(projectId)}
          now={service.now()}
        />,
      )
    })

    .post(`${BASE}/catcher/register`, async (c) => {
      const { projectId } = c.get('apiKey')
      const made = await service.webhooks.create({
        ...{
          projectId,
          url: urlOf(projectId, c.req.url),
          events: ['*'],
          description: 'The catcher of the console',
        },
        secret: catcher.secretOf(projectId),
      })
      if (made.isErr()) return showProblem(c, problemStatus(made.error), problemText(made.error))
      return c.redirect(`${BASE}/catcher?notice=caught`, 303)
    })

    .post(`${BASE}/catcher/answer`, async (c) => {
      const form = await c.req.parseBody()
      catcher.answer(c.get('apiKey').projectId, answeringFrom(form))
      return c.redirect(`${BASE}/catcher?notice=answering`, 303)
    })

    .post(`${BASE}/catcher/clear`, (c) => {
      catcher.clear(c.get('apiKey').projectId)
      return c.redirect(`${BASE}/catcher?notice=cleared`, 303)
    })
}

const answeringFrom = (form: Readonly<Record<string, unknown>>): Answering => ({
  status: STATUSES.find((status) => String(status) === form['status']) ?? 200,
  delayMs: DELAYS_MS.find((delayMs) => String(delayMs) === form['delayMs']) ?? 0,
})

type CatcherPageProps = {
  readonly url: string
  readonly isRegistered: boolean
  readonly caught: ReturnType<Catcher['caughtBy']>
  readonly answering: Answering
  readonly now: Instant
}

function CatcherPage({ url, isRegistered, caught, answering, now }: CatcherPageProps) {
  return (
    <>
      <h1>Catcher</h1>
      <p class="muted">
        A receiver of our own: it shows what it gets, checks the signatures, and answers as you
        like.
      </p>
      <p class="secret">
        <code>{url}</code>
        <CopyButton text={url} what="the URL" />
      </p>
      <div class="columns">
        <div {...refreshed('live', 2_000, `${BASE}/catcher`)}>
          {caught.length === 0 ? (
            <NothingCaught isRegistered={isRegistered} />
          ) : (
            caught.map((one) => <CaughtOne caught={one} now={now} />)
          )}
        </div>
        <section class="card" aria-labelledby="answer">
          <h2 id="answer">What it answers</h2>
          <AnswerForm answering={answering} />
          {!isRegistered && caught.length > 0 && <Register />}
          {caught.length > 0 && (
            <form method="post" action={`${BASE}/catcher/clear`}>
              <button>Forget what was caught</button>
            </form>
          )}
        </section>
      </div>
    </>
  )
}

const Register = () => (
  <form method="post" action={`${BASE}/catcher/register`}>
    <button class="primary">Register it as a webhook</button>
  </form>
)

const NothingCaught = ({ isRegistered }: { readonly isRegistered: boolean }) => (
  <Empty title="Nothing caught yet">
    {isRegistered ? (
      <p>
        It is registered for every event. <a href={`${BASE}/sessions`}>Send a message</a>, and its
        answer shows here.
      </p>
    ) : (
      <>
        <p>Make it a webhook of this project, for every event:</p>
        <Register />
      </>
    )}
  </Empty>
)

const verdicts: Readonly<Record<WebhookUpdate, { readonly tone: Tone; readonly words: string }>> = {
  valid: { tone: 'good', words: 'signature valid' },
  wrong: { tone: 'bad', words: 'signature wrong' },
  unsigned: { tone: 'idle', words: 'not signed' },
}

function CaughtOne({
  caught: { at, event, deliveryId, verdict, status, body },
  now,
}: {
  readonly caught: Caught
  readonly now: Instant
}) {
  const { tone, words } = verdicts[verdict]
  return (
    <article class="card caught" aria-label={event}>
      <p>
        <code>{event}</code> <Status tone={tone}>{words}</Status>{' '}
        <span class="muted">answered {status}</span> <Time at={at} now={now} />{' '}
        {deliveryId === '' ? null : (
          <Id id={deliveryId} href={`${BASE}/deliveries/${deliveryId}`} />
        )}
      </p>
      <pre tabindex={0}>{indented(body)}</pre>
    </article>
  )
}

const AnswerForm = ({ answering }: { readonly answering: Answering }) => (
  <form method="post" action={`${BASE}/catcher/answer`} class="stack">
    <div>
      <label for="status">Status</label>
      <select id="status" name="status">
        {STATUSES.map((status) => (
          <option value={status} selected={status === answering.status}>
            {status}
          </option>
        ))}
      </select>
    </div>
    <div>
      <label for="delayMs">After</label>
      <select id="delayMs" name="delayMs">
        {DELAYS_MS.map((delayMs) => (
          <option value={delayMs} selected={delayMs === answering.delayMs}>
            {delayMs === 0
              ? 'no delay'
              : `${delayMs / 1_000} s${delayMs > 15_000 ? ' (longer than an attempt may take)' : ''}`}
          </option>
        ))}
      </select>
    </div>
    <p class="buttons">
      <button>Answer so</button>
    </p>
  </form>
)

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
