import type { ByActor, MessagingService, Webhook } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { detailsOf } from '../deliveries/delivery-table.js'
import { byActor, projectIn, webhookRef } from '../parts/input.js'
import { secretPage, show, showDone, showFound } from '../parts/layout.js'
import type { ConsoleDeps, Env } from '../context.js'
import { BASE } from '../options.js'
import { problemText } from '../parts/problem.js'
import { need } from '../access/sign-in.js'
import { fieldsIn, settingsOf } from './webhook-form.js'
import { readFilter } from './webhook-filter-form.js'
import { listPage } from './webhook-list.js'
import { readWebhookActivity, WebhookPage } from './webhook-page.js'

const MAX_RECENT = 10

export const webhookRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const mayManage = need('project:webhooks')
  return new Hono<Env>()
    .get(`${BASE}/webhooks`, mayManage, (c) => listPage(c, d))

    .post(`${BASE}/webhooks`, mayManage, async (c) => {
      const fields = fieldsIn(await c.req.parseBody({ all: true }))
      const created = await service.webhooks.create({
        actor: c.get('actor'),
        ...settingsOf(fields),
        ...(await readFilter(service, projectIn(c), fields)),
        projectId: projectIn(c),
      })
      return created.isErr()
        ? listPage(c, d, { ...fields, problem: problemText(created.error) })
        : webhookSecretPage(c, created.value, 'Webhook registered')
    })

    .get(`${BASE}/webhooks/:id`, mayManage, (c) => {
      const ref = webhookRef(c)
      const found = safeTry(async function* () {
        const webhook = yield* service.webhooks.get(ref)
        const { data } = yield* service.deliveries.list(ref, { limit: MAX_RECENT })
        const recent = yield* readWebhookActivity(service, ref)
        return ok({ webhook, deliveries: yield* detailsOf(service, data), recent })
      })
      return showFound(c, found, (page) =>
        show(
          c,
          { title: page.webhook.description ?? page.webhook.url, section: 'Webhooks' },
          <WebhookPage {...page} limit={service.webhooks.limitOf(page.webhook)} />,
        ),
      )
    })

    .post(`${BASE}/webhooks/:id/rotate`, mayManage, (c) =>
      showFound(c, service.webhooks.rotateSecret(byActor(c, webhookRef(c))), (rotated) =>
        webhookSecretPage(c, rotated, 'Secret rotated'),
      ),
    )

    .post(
      `${BASE}/webhooks/:id/:action{test|pause|resume|disable|enable|finish}`,
      mayManage,
      (c) => {
        const ref = byActor(c, webhookRef(c))
        const { notice, act } = actions(service)[c.req.param('action') as ActionName]
        return showDone(c, act(ref), `/webhooks/${ref.webhookId}?notice=${notice}`)
      },
    )
}

type ActionName = keyof ReturnType<typeof actions>

const actions = ({ webhooks }: MessagingService) => {
  const pause = (ref: WebhookRef, paused: boolean) =>
    webhooks.update({ ...ref, change: { paused } })
  return {
    test: { notice: 'tested', act: webhooks.sendTestEvent },
    pause: { notice: 'paused', act: (ref: WebhookRef) => pause(ref, true) },
    resume: { notice: 'resumed', act: (ref: WebhookRef) => pause(ref, false) },
    disable: { notice: 'disabled', act: webhooks.disable },
    enable: { notice: 'enabled', act: webhooks.enable },
    finish: { notice: 'finished', act: webhooks.finishRotation },
  }
}

type WebhookRef = ReturnType<typeof webhookRef> & ByActor

type NewSecret = { readonly webhook: Webhook; readonly secret: string }

function webhookSecretPage(c: Context<Env>, { webhook, secret }: NewSecret, title: string) {
  const path = `${BASE}/webhooks/${webhook.id}`
  return secretPage(
    c,
    { title, section: 'Webhooks', path, secret, what: 'secret' },
    <p>
      This secret signs the deliveries to <span class="url">{webhook.url}</span>. Copy the secret to
      your receiver now. The secret is shown <strong>only once</strong>.
    </p>,
    <>
      {webhook.previousSecret && (
        <p class="muted">
          The old secret signs deliveries too for one day, so that you can update your receiver
          without losing any.
        </p>
      )}
      <p>
        <a class="button" href={path}>
          Done
        </a>
      </p>
    </>,
  )
}
