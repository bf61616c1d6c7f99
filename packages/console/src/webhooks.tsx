import { EVENT_NAMES, type CreateWebhookInput, type Instant, type Webhook } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { detailsOf } from './delivery-table.js'
import { textIn, type Form } from './form.js'
import { show, showProblem } from './layout.js'
import { BASE, type ConsoleDeps, type Env } from './options.js'
import { Command, CopyButton, Empty, Next, pathOf, Problem, refreshed, Status, Time } from './parts.js'
import { idIn, pageOf } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { need } from './sign-in.js'
import { healthOf } from './wording.js'
import { WebhookPage } from './webhook-page.js'

type Draft = { readonly url: string; readonly description: string; readonly events: readonly string[]; readonly problem: string }

const RECENT = 10

export const webhookRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const mayManage = need('project:webhooks')
  const refIn = (c: Context<Env>) => ({ projectId: c.get('apiKey').projectId, webhookId: idIn(c.req.param('id') ?? '') })
  return new Hono<Env>()
    .get(`${BASE}/webhooks`, mayManage, (c) => listPage(c, d))

    .post(`${BASE}/webhooks`, mayManage, async (c) => {
      const form = await c.req.parseBody({ all: true })
      const input = inputFrom(form)
      const created = await service.webhooks.create({ ...input, projectId: c.get('apiKey').projectId })
      if (created.isErr()) return listPage(c, d, { ...input, description: input.description ?? '', problem: problemText(created.error) })
      return secretPage(c, created.value.webhook, created.value.secret, 'The webhook is registered')
    })

    .get(`${BASE}/webhooks/:id`, mayManage, async (c) => {
      const ref = refIn(c)
      const found = await safeTry(async function* () {
        const webhook = yield* service.webhooks.get(ref)
        const { data } = yield* service.deliveries.list(ref, { limit: RECENT })
        return ok({ webhook, deliveries: yield* detailsOf(service, data) })
      })
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      const { webhook } = found.value
      return show(c, { title: webhook.url, section: 'Webhooks' }, <WebhookPage {...found.value} now={service.now()} path={pathOf(c)} />)
    })

    .post(`${BASE}/webhooks/:id/rotate`, mayManage, async (c) => {
      const rotated = await service.webhooks.rotateSecret(refIn(c))
      if (rotated.isErr()) return showProblem(c, problemStatus(rotated.error), problemText(rotated.error))
      return secretPage(c, rotated.value.webhook, rotated.value.secret, 'The webhook has a new secret')
    })

    .post(`${BASE}/webhooks/:id/:action{test|pause|enable|finish}`, mayManage, async (c) => {
      const ref = refIn(c)
      const { notice, act } = actions(d)[c.req.param('action') as ActionName]
      const done = await act(ref)
      if (done.isErr()) return showProblem(c, problemStatus(done.error), problemText(done.error))
      return c.redirect(`${BASE}/webhooks/${ref.webhookId}?notice=${notice}`, 303)
    })
}

type ActionName = keyof ReturnType<typeof actions>

const actions = ({ service: { webhooks } }: ConsoleDeps) => ({
  test: { notice: 'tested', act: webhooks.sendTestEvent },
  pause: { notice: 'paused', act: webhooks.disable },
  enable: { notice: 'enabled', act: webhooks.enable },
  finish: { notice: 'finished', act: webhooks.finishRotation },
})

/** Which events there are is the service's to say. */
function inputFrom(form: Form): Omit<CreateWebhookInput, 'projectId'> {
  const text = (name: string): string => textIn(form, name).trim()
  const events = [form['events'] ?? []].flat().map(String) as unknown as CreateWebhookInput['events']
  return { url: text('url'), events, ...(text('description') !== '' && { description: text('description') }) }
}

async function listPage(c: Context<Env>, { service, catcher }: ConsoleDeps, draft?: Draft) {
  const found = await service.webhooks.list(c.get('apiKey').projectId, pageOf(c))
  if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
  const { data, nextCursor } = found.value
  return show(
    c,
    { title: 'Webhooks', section: 'Webhooks', status: draft ? 400 : 200 },
    <>
      <h1>Webhooks</h1>
      <div class="columns">
        {data.length === 0 ? (
          <NoWebhooks hasCatcher={catcher !== undefined} origin={new URL(c.req.url).origin} />
        ) : (
          <div {...refreshed('live', 5_000, pathOf(c))}>
            <WebhookTable webhooks={data} now={service.now()} />
            <Next c={c} cursor={nextCursor} />
          </div>
        )}
        <section class="card" aria-labelledby="create">
          <h2 id="create">Register a webhook</h2>
          <CreateForm draft={draft} />
        </section>
      </div>
    </>,
  )
}

const WebhookTable = ({ webhooks, now }: { readonly webhooks: readonly Webhook[]; readonly now: Instant }) => (
  <div class="scroll card flush" role="region" aria-label="Webhooks" tabindex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Webhook</th>
          <th scope="col">Health</th>
          <th scope="col">Events</th>
          <th scope="col">Last accepted</th>
        </tr>
      </thead>
      <tbody>
        {webhooks.map((webhook) => {
          const { tone, words, why } = healthOf(webhook, now)
          const { lastSuccessAt } = webhook.health
          return (
            <tr>
              <th scope="row">
                <a href={`${BASE}/webhooks/${webhook.id}`} class="url">
                  {webhook.url}
                </a>
                {webhook.description !== undefined && <div class="muted small">{webhook.description}</div>}
              </th>
              <td>
                <Status tone={tone}>{words}</Status>
                {why !== undefined && <div class="muted small">{why}</div>}
              </td>
              <td>{webhook.events.includes('*') ? 'all' : webhook.events.join(', ')}</td>
              <td>{lastSuccessAt === undefined ? '–' : <Time at={lastSuccessAt} now={now} />}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  </div>
)

function CreateForm({ draft }: { readonly draft: Draft | undefined }) {
  const isChosen = (event: string): boolean => draft?.events.includes(event) ?? event === '*'
  return (
    <form method="post" action={`${BASE}/webhooks`} class="stack">
      <Problem text={draft?.problem} />
      <div>
        <label for="url">URL</label>
        <input id="url" name="url" type="url" required value={draft?.url ?? ''} placeholder="https://example.com/hooks" />
      </div>
      <div>
        <label for="description">
          Description <span class="muted">(optional)</span>
        </label>
        <input id="description" name="description" maxlength={500} value={draft?.description ?? ''} />
      </div>
      <fieldset>
        <legend>Events</legend>
        {['*', ...EVENT_NAMES].map((event) => (
          <label class="check">
            <input type="checkbox" name="events" value={event} checked={isChosen(event)} />
            {event === '*' ? 'All, those of later versions too' : <code>{event}</code>}
          </label>
        ))}
      </fieldset>
      <p class="buttons">
        <button class="primary">Register</button>
      </p>
    </form>
  )
}

const NoWebhooks = ({ hasCatcher, origin }: { readonly hasCatcher: boolean; readonly origin: string }) => (
  <Empty title="No webhooks yet">
    <p>A webhook is a URL of yours that is told, signed and retried, of each answer and of what happens to agents.</p>
    {hasCatcher ? (
      <p>
        No receiver at hand? <a href={`${BASE}/catcher`}>Use the catcher</a>: one of our own that shows what it gets.
      </p>
    ) : null}
    <Command
      text={`curl ${origin}/v1/webhooks \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"url":"https://example.com/hooks","events":["*"]}'`}
    />
  </Empty>
)

/** The one time that a secret is shown: in the answer to what made it, and nowhere else. */
const secretPage = (c: Context<Env>, webhook: Webhook, secret: string, title: string) =>
  show(
    c,
    { title, section: 'Webhooks' },
    <div class="narrow card" data-address={`${BASE}/webhooks/${webhook.id}`}>
      <h1>{title}</h1>
      <p>
        Deliveries to <span class="url">{webhook.url}</span> are signed with this secret. It is shown <strong>this once</strong>: copy it to
        your receiver now.
      </p>
      <p class="secret">
        <code id="secret">{secret}</code>
        <CopyButton text={secret} what="the secret" />
      </p>
      {webhook.previousSecret && (
        <p class="muted">
          For a day deliveries are signed with the old secret too, so that your receiver can change over without losing any.
        </p>
      )}
      <p>
        <a class="button" href={`${BASE}/webhooks/${webhook.id}`}>
          I have copied it
        </a>
      </p>
    </div>,
  )
