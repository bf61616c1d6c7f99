import type { Instant, Webhook } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { detailsOf } from './delivery-table.js'
import { pageOf, webhookRef } from './input.js'
import { show, showError } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { Command, CopyButton, Empty, Next, pathOf, refreshed, Status, Time } from './parts.js'
import { problemText } from './problem.js'
import { need } from './sign-in.js'
import { healthOf } from './wording.js'
import {
  fieldsIn,
  NEW_WEBHOOK,
  settingsOf,
  WebhookForm,
  type WebhookDraft,
} from './webhook-form.js'
import { readWebhookActivity } from './webhook-activity.js'
import { readFilter } from './webhook-filter-form.js'
import { WebhookName } from './webhook-name.js'
import { WebhookPage } from './webhook-page.js'

const MAX_RECENT = 10

export const webhookRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const mayManage = need('project:webhooks')
  return new Hono<Env>()
    .get(`${BASE}/webhooks`, mayManage, (c) => listPage(c, d))

    .post(`${BASE}/webhooks`, mayManage, async (c) => {
      const fields = fieldsIn(await c.req.parseBody({ all: true }))
      const created = await c.get('changes').webhooks.create({
        ...settingsOf(fields),
        ...(await readFilter(service, c.get('apiKey').projectId, fields)),
        projectId: c.get('apiKey').projectId,
      })
      if (created.isErr()) return listPage(c, d, { ...fields, problem: problemText(created.error) })
      return secretPage(c, created.value.webhook, created.value.secret, 'Webhook registered')
    })

    .get(`${BASE}/webhooks/:id`, mayManage, async (c) => {
      const ref = webhookRef(c)
      const found = await safeTry(async function* () {
        const webhook = yield* service.webhooks.get(ref)
        const { data } = yield* service.deliveries.list(ref, { limit: MAX_RECENT })
        const recent = yield* readWebhookActivity(service, ref)
        return ok({ webhook, deliveries: yield* detailsOf(service, data), recent })
      })
      if (found.isErr()) return showError(c, found.error)
      const { webhook } = found.value
      return show(
        c,
        { title: webhook.description ?? webhook.url, section: 'Webhooks' },
        <WebhookPage
          {...found.value}
          limit={service.webhooks.limitOf(found.value.webhook)}
          now={service.now()}
          path={pathOf(c)}
        />,
      )
    })

    .post(`${BASE}/webhooks/:id/rotate`, mayManage, async (c) => {
      const rotated = await c.get('changes').webhooks.rotateSecret(webhookRef(c))
      if (rotated.isErr()) return showError(c, rotated.error)
      return secretPage(c, rotated.value.webhook, rotated.value.secret, 'Secret rotated')
    })

    .post(
      `${BASE}/webhooks/:id/:action{test|pause|resume|disable|enable|finish}`,
      mayManage,
      async (c) => {
        const ref = webhookRef(c)
        const { notice, act } = actions(d, c.get('changes'))[c.req.param('action') as ActionName]
        const done = await act(ref)
        if (done.isErr()) return showError(c, done.error)
        return c.redirect(`${BASE}/webhooks/${ref.webhookId}?notice=${notice}`, 303)
      },
    )
}

type ActionName = keyof ReturnType<typeof actions>

const actions = ({ service }: ConsoleDeps, { webhooks }: Env['Variables']['changes']) => {
  const pause = (ref: WebhookRef, paused: boolean) =>
    webhooks.update({ ...ref, change: { paused } })
  return {
    test: { notice: 'tested', act: service.webhooks.sendTestEvent },
    pause: { notice: 'paused', act: (ref: WebhookRef) => pause(ref, true) },
    resume: { notice: 'resumed', act: (ref: WebhookRef) => pause(ref, false) },
    disable: { notice: 'disabled', act: webhooks.disable },
    enable: { notice: 'enabled', act: webhooks.enable },
    finish: { notice: 'finished', act: webhooks.finishRotation },
  }
}

type WebhookRef = ReturnType<typeof webhookRef>

async function listPage(c: Context<Env>, { service, catcher }: ConsoleDeps, draft?: WebhookDraft) {
  const found = await service.webhooks.list(c.get('apiKey').projectId, pageOf(c))
  if (found.isErr()) return showError(c, found.error)
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
          <WebhookForm action={`${BASE}/webhooks`} draft={draft ?? NEW_WEBHOOK} button="Register" />
        </section>
      </div>
    </>,
  )
}

const WebhookTable = ({
  webhooks,
  now,
}: {
  readonly webhooks: readonly Webhook[]
  readonly now: Instant
}) => (
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
          const { tone, text, reason } = healthOf(webhook, now)
          const { lastSuccessAt } = webhook.health
          return (
            <tr>
              <th scope="row">
                <WebhookName webhook={webhook} />
              </th>
              <td data-label="Health">
                <Status tone={tone}>{text}</Status>
                {reason !== undefined && <div class="muted small">{reason}</div>}
              </td>
              <td data-label="Events">
                {webhook.events.includes('*') ? 'all' : webhook.events.join(', ')}
              </td>
              <td data-label="Last accepted">
                {lastSuccessAt === undefined ? '–' : <Time at={lastSuccessAt} now={now} />}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  </div>
)

const NoWebhooks = ({
  hasCatcher,
  origin,
}: {
  readonly hasCatcher: boolean
  readonly origin: string
}) => (
  <Empty title="No webhooks yet">
    <p>
      A webhook sends signed events to your URL, such as each answer of an agent. Failed deliveries
      are retried.
    </p>
    {hasCatcher ? (
      <p>
        No receiver yet? <a href={`${BASE}/catcher`}>Use the catcher</a>, a built-in receiver that
        shows each request.
      </p>
    ) : null}
    <Command
      text={`curl ${origin}/v1/webhooks \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"url":"https://example.com/hooks","events":["*"]}'`}
    />
  </Empty>
)

/** Shows a new secret. No other page shows secrets. */
const secretPage = (c: Context<Env>, webhook: Webhook, secret: string, title: string) =>
  show(
    c,
    { title, section: 'Webhooks' },
    <div class="narrow card" data-address={`${BASE}/webhooks/${webhook.id}`}>
      <h1>{title}</h1>
      <p>
        This secret signs the deliveries to <span class="url">{webhook.url}</span>. Copy the secret
        to your receiver now. The secret is shown <strong>only once</strong>.
      </p>
      <p class="secret">
        <code id="secret">{secret}</code>
        <CopyButton text={secret} what="secret" />
      </p>
      {webhook.previousSecret && (
        <p class="muted">
          The old secret signs deliveries too for one day, so that you can update your receiver
          without losing any.
        </p>
      )}
      <p>
        <a class="button" href={`${BASE}/webhooks/${webhook.id}`}>
          Done
        </a>
      </p>
    </div>,
  )
