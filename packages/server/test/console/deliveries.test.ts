import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser
const at = (path: string): string => browser.at(path)
const text = async (page: Page): Promise<string> => (await page.textContent('main')) ?? ''
const webhook = (n: number): string => browser.demo.webhooks[n]?.id ?? ''

async function newestDelivery(webhookId: string, filter: object = {}): Promise<string> {
  const found = await browser.demo.service.deliveries.list({
    projectId: browser.demo.projectId,
    webhookId,
    ...filter,
    limit: 1,
  })
  return found.data[0]?.id ?? ''
}

async function anotherWebhook() {
  const made = await browser.demo.service.webhooks.create({
    projectId: browser.demo.projectId,
    url: 'https://crm.example.com/third',
    events: ['agent.stopped'],
  })
  return made.webhook
}

describe(
  'webhooks and deliveries in the console',
  { ...needs('chromium'), timeout: 2 * TIMEOUT_MS },
  () => {
    beforeAll(async () => {
      browser = await openDemoBrowser()
    }, 3 * TIMEOUT_MS)
    afterAll(() => browser.close())

    it('shows a delivery beside its body, and copies the body, an answer and a curl command', async () => {
      await browser.signedIn(
        async (page) => {
          const id = await newestDelivery(webhook(2), { lastAnswer: '5xx' })
          await page.goto(at(`/deliveries/${id}`))
          const left = await page.locator('.timeline').boundingBox()
          const right = await page.locator('#body').boundingBox()
          expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0))
          await page.locator('.json-key', { hasText: '"event"' }).waitFor()
          const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
          await page.getByRole('button', { name: 'Copy body' }).click()
          expect(JSON.parse(await copied())).toMatchObject({ event: 'message.responded' })
          await page.getByRole('button', { name: 'Copy answer of attempt 1', exact: true }).click()
          expect(await copied()).toContain('NullPointerException')
          await page.getByText('As a curl command').first().click()
          await page.getByRole('button', { name: 'Copy attempt 1 as curl', exact: true }).click()
          const command = await copied()
          expect(command).toContain(`curl -X POST 'https://legacy.example.net/webhook.jsp'`)
          expect(command).not.toMatch(/signature|whsec/i)
        },
        { permissions: ['clipboard-read', 'clipboard-write'] },
      )
    })

    it('says on the page of an event why a webhook did not get it, one click from a delivery', async () => {
      await browser.signedIn(async (page) => {
        const filter = [{ path: 'amount', min: 20 }]
        const { service, projectId } = browser.demo
        const made = await service.webhooks.create({
          projectId,
          url: 'https://crm.example.com/orders',
          description: 'Large orders',
          events: ['order.*'],
          filter: { data: filter },
        })
        await service.events.publish({
          projectId,
          type: 'order.paid',
          data: { amount: 12 },
          id: 'order-42-paid',
        })
        await page.goto(at('/events?published=yes&type=order.*'))
        await page.getByRole('link', { name: 'order.paid' }).click()
        const story = page.locator('.story')
        await story.getByText('data: amount from 20').waitFor()
        expect(await story.textContent()).toContain('It subscribes to message.responded')
        await page.getByRole('region', { name: 'Deliveries' }).getByRole('link').first().click()
        await page.getByRole('link', { name: 'order-42-paid' }).click()
        await page.getByText('Large orders').click()
        expect(page.url()).toBe(at(`/webhooks/${made.webhook.id}`))
        await service.webhooks.delete({ projectId, webhookId: made.webhook.id })
      })
    })

    it('leaves open what a person opened while an update was under way', async () => {
      await browser.signedIn(async (page) => {
        const id = await newestDelivery(webhook(2), { lastAnswer: '5xx' })
        await page.goto(at(`/deliveries/${id}`))
        const held = Promise.withResolvers<void>()
        const asked = Promise.withResolvers<void>()
        await page.route(`**/deliveries/${id}`, async (route) => {
          asked.resolve()
          await held.promise
          await route.continue()
        })
        const updated = page.evaluate(
          `new Promise((resolve) => document.addEventListener('htmx:afterRequest', () => resolve(), { once: true }))`,
        )
        await asked.promise
        await page.getByText('As a curl command').first().click()
        held.resolve()
        await updated
        expect(
          await page
            .getByText(/^curl -X POST/)
            .first()
            .isVisible(),
        ).toBe(true)
      })
    })

    it('shows times in the zone of the browser, with UTC on hover', async () => {
      await browser.signedIn(
        async (page) => {
          await page.locator('html[data-zone="Asia/Tokyo"]').waitFor()
          await page.goto(at(`/deliveries/${await newestDelivery(webhook(0))}`))
          const time = page.locator('.facts-list time').last()
          const utc = (await time.getAttribute('title')) ?? ''
          const local = new Date(Date.parse(utc) + 9 * 3_600_000).toISOString()
          expect(utc).toMatch(/Z$/)
          expect(await time.textContent()).toContain(local.slice(0, 19).replace('T', ' '))
          await page.goto(at('/deliveries'))
          await page.getByText('From (Asia/Tokyo)').waitFor()
        },
        { timezoneId: 'Asia/Tokyo' },
      )
    })

    it('reads out the values of a chart for the pointer and for the arrow keys', async () => {
      await browser.signedIn(async (page) => {
        // No update of the page takes the focus away.
        await page.clock.install({ time: 0 })
        await page.clock.pauseAt(1_000)
        await page.goto(at(''))
        const plot = page.getByRole('group', { name: 'Messages. The arrow keys' })
        const reading = plot.locator('.reading')
        await plot.locator('[data-reading]').nth(5).hover({ force: true })
        await reading.getByText(/: answered \d+, failed \d+/).waitFor()
        await page.reload()
        await plot.focus()
        await reading.getByText(/: answered \d+, failed \d+/).waitFor()
        await page.keyboard.press('End')
        const last = await reading.textContent()
        await page.keyboard.press('ArrowLeft')
        expect(await reading.textContent()).not.toBe(last)
        await page.keyboard.press('Enter')
        await page.waitForURL(/\/console\/\w+\?from=.*&to=/)
      })
    })

    it('disables a webhook and recovers all webhooks with the keyboard only', async () => {
      const { id } = await anotherWebhook()
      await browser.signedIn(async (page) => {
        const press = async (name: string, role: 'link' | 'button') => {
          const target = page.getByRole(role, { name, exact: true })
          await page.keyboard.press('Tab')
          for (let i = 0; i < 60; i++) {
            if ((await target.and(page.locator(':focus')).count()) > 0) break
            await page.keyboard.press('Tab')
          }
          await page.keyboard.press('Enter')
        }
        await page.goto(at(`/webhooks/${id}`))
        await press('Disable', 'link')
        await page.getByText('The receiver gets no requests').waitFor()
        await press('Disable', 'button')
        await page.getByText('The webhook is disabled').waitFor()
        await page.goto(at('/recover'))
        await page.locator('#status').focus()
        await page.keyboard.type('delivered')
        await press('Count the matches', 'button')
        await page.getByRole('heading', { name: /deliveries match$/ }).waitFor()
        await page.getByText('the receivers of all webhooks').waitFor()
        const send = await page.getByRole('button', { name: /^Send .* again$/ }).textContent()
        await press(send ?? '', 'button')
        await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
        await page.getByText(/^(sending|done)$/).waitFor()
      })
      const ref = { projectId: browser.demo.projectId, webhookId: id }
      await browser.demo.service.webhooks.delete(ref)
    })

    it('retries a failed message', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(at('/sessions/support?session=order-4712'))
        await page.getByRole('button', { name: 'Retry' }).click()
        await page.getByText('end of its session’s queue').waitFor()
        await page
          .getByRole('group', { name: 'Conversation' })
          .getByText('context length exceeded')
          .waitFor()
      })
    })

    it('registers, tests, pauses, enables, edits, rotates and deletes a webhook', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(at('/webhooks'))
        await page.fill('#url', 'https://crm.example.com/second')
        await page.getByRole('button', { name: 'Register' }).click()
        const secret = await page.textContent('#secret')
        expect(secret).toMatch(/^whsec_/)
        await page.reload()
        expect(await page.content()).not.toContain(secret)
        await page.getByRole('button', { name: 'Send test event' }).click()
        await page.locator('tr', { hasText: 'webhook.test' }).getByText('delivered').waitFor()
        await page.getByRole('button', { name: 'Pause' }).click()
        await page.getByText('The webhook is paused').waitFor()
        await page.getByRole('button', { name: 'Resume' }).click()
        await page.getByText('The webhook is resumed').waitFor()
        await page.getByRole('link', { name: 'Disable' }).click()
        await page.getByText('The receiver gets no requests').waitFor()
        await page.getByRole('button', { name: 'Disable' }).click()
        await page.getByText('Disabled by an operator').waitFor()
        await page.getByRole('button', { name: 'Enable' }).click()
        await page.getByText('The webhook is enabled').waitFor()
        await page.getByRole('link', { name: 'Edit' }).click()
        await page.fill('#description', 'The second one')
        await page.getByLabel('All events, including future ones').uncheck()
        await page.getByLabel('agent.error').check()
        await page.getByText('Order, filter, limits and retries').click()
        await page.getByLabel('Most requests at a time').fill('3')
        await page.getByRole('button', { name: 'Save' }).click()
        await page.getByText('The changes were saved').waitFor()
        expect(await text(page)).toMatch(
          /The second one[^]*agent\.error[^]*Most requests at a time\s*3/,
        )
        await page.getByRole('link', { name: 'Rotate secret' }).click()
        await page.getByText('must know the new secret').waitFor()
        await page.getByRole('button', { name: 'Rotate secret' }).click()
        expect(await page.textContent('#secret')).not.toBe(secret)
        await page.getByRole('link', { name: 'Done' }).click()
        await page.getByRole('button', { name: 'Finish rotation' }).click()
        await page.getByText('The old secret no longer signs').waitFor()
        await page.getByRole('link', { name: 'Delete' }).click()
        await page.getByRole('link', { name: 'Cancel' }).click()
        await page.getByRole('link', { name: 'Delete' }).click()
        await page.getByRole('button', { name: 'Delete webhook' }).click()
        await page.getByText('The webhook was deleted').waitFor()
        expect(await text(page)).not.toContain('crm.example.com/second')
      })
    })

    it('finds deliveries by a filter in the address, and redelivers one', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(at('/deliveries'))
        await page.selectOption('#answer', '2xx')
        await page.selectOption('#webhook', webhook(0))
        await page.getByRole('button', { name: 'Filter' }).click()
        expect(new URL(page.url()).searchParams.get('answer')).toBe('2xx')
        const row = page.locator('tbody tr').first()
        expect(await row.textContent()).toMatch(/200.*crm\.example\.com/)
        await row.getByRole('link').first().click()
        const attempts = page.locator('.timeline strong')
        const before = await attempts.count()
        await page.getByRole('button', { name: 'Redeliver' }).click()
        await page.getByText('An attempt was requested. This page shows its result.').waitFor()
        await page.locator('.timeline strong').nth(before).waitFor()
      })
    })

    it('cancels a pending delivery', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(
          at(`/deliveries/${await newestDelivery(webhook(4), { status: 'pending' })}`),
        )
        await page.getByRole('button', { name: 'Cancel' }).click()
        await page.getByText('cancelled by an operator').waitFor()
      })
    })

    it('recovers matching deliveries, and shows the progress', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(at(`/webhooks/${webhook(0)}`))
        await page.getByRole('link', { name: 'Recover' }).click()
        await page.selectOption('#status', 'delivered')
        await page.getByRole('button', { name: 'Count the matches' }).click()
        const figure = async (pattern: RegExp) =>
          Number(pattern.exec((await text(page)).replaceAll(',', ''))?.[1])
        const total = await figure(/(\d+) deliveries match/)
        expect(total).toBeGreaterThan(200)
        await page.getByRole('button', { name: `Send ${total} again` }).click()
        await page.getByText(/^(sending|done)$/).waitFor()
        expect(await figure(/of (\d+) accepted/)).toBeGreaterThan(190)
        await page.getByText(/ accepted by /).waitFor({ timeout: 60_000 })
      })
    })

    it('sends stored events to a new webhook, and shows the progress', async () => {
      const { service, projectId } = browser.demo
      const types = ['order.sent', 'order.sent', 'order.lost', 'invoice.sent']
      await service.events.publishBatch({
        projectId,
        events: types.map((type) => ({ type, data: {} })),
      })
      const { webhook: made } = await service.webhooks.create({
        projectId,
        url: 'https://crm.example.com/orders',
        events: ['order.*'],
      })
      await browser.signedIn(async (page) => {
        await page.goto(at('/recover'))
        const form = page.locator('form', { hasText: 'Send stored events to a webhook' })
        await form.getByLabel('Webhook').selectOption(made.id)
        await form.getByLabel('Type or group').fill('order.sent')
        await form.getByLabel('From').fill('2020-01-01T00:00')
        await form.getByRole('button', { name: 'Send the events' }).click()
        await page.getByText(/ of 2 accepted/).waitFor()
        await page.getByText('https://crm.example.com/orders').waitFor()
        await page.goto(at('/recover'))
        const list = page.locator('section', { hasText: 'Newest recoveries' })
        const first = list.locator('tbody tr').first()
        expect(await first.textContent()).toMatch(/crm\.example\.com\/orders.* of 2/)
      })
    })

    it('the catcher checks signatures and answers with the chosen response', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(at('/catcher'))
        await page.getByRole('button', { name: 'Register as a webhook' }).click()
        await page.selectOption('#status', '503')
        await page.getByRole('button', { name: 'Apply' }).click()
        await browser.demo.service.messages.send({
          projectId: browser.demo.projectId,
          agent: 'triage',
          sessionId: 'caught',
          message: 'x',
          waitMs: 0,
        })
        await page.getByText('signature valid').first().waitFor()
        await page.locator('.caught a').first().click()
        await page.locator('.timeline').getByText('503').first().waitFor()
        await page.goto(at('/catcher'))
        await page.getByRole('button', { name: 'Clear the list' }).click()
        await page.getByText('The list was cleared').waitFor()
      })
    })
  },
)
