import type { Permission } from '@org/agent-messaging-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser
const at = (path: string): string => browser.at(path)
const text = async (page: Page): Promise<string> => (await page.textContent('main')) ?? ''
const webhookId = (n: number): string => browser.demo.webhooks[n]?.id ?? ''

const LONG_SESSION = `${'s'.repeat(174)}-4711-long`
const OVERFLOWING = `[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length`

async function keyWith(permissions: readonly Permission[], projectId = browser.demo.projectId) {
  const made = await browser.demo.service.keys.create({ projectId, name: 'other', permissions })
  return made.key
}

/** Returns the newest message of the session, with its deliveries. */
async function found(sessionId: string) {
  const { projectId, service } = browser.demo
  const page = { limit: 1 }
  const [one] = (await service.messages.search({ projectId, sessionId, ...page })).data
  if (!one) throw new Error(`no message in ${sessionId}`)
  return one
}

async function search(page: Page, words: string): Promise<void> {
  await page.getByRole('searchbox').fill(words)
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
}

describe('finding things in the console', { ...needs('chromium'), timeout: 2 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
    const { projectId, service } = browser.demo
    const long = { projectId, agent: 'support', sessionId: LONG_SESSION, waitMs: 0 }
    await service.messages.send({ ...long, message: 'Please fail' })
    const hasFailed = async () =>
      expect((await found(LONG_SESSION)).deliveries.length).toBeGreaterThan(0)
    await vi.waitFor(hasFailed, { timeout: TIMEOUT_MS })
  }, 3 * TIMEOUT_MS)

  afterAll(async () => browser.close())

  it('follows a message from its id to its delivery and its session, by the keyboard', async () => {
    const { message, deliveries } = await found('order-4712')
    await browser.signedIn(async (page) => {
      const follow = async (href: string) => {
        await page.locator(`main a[href="${href}"]`).first().focus()
        await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
      }
      await page.goto(at('/agents'))
      await page.keyboard.press('/')
      await page.keyboard.type(message.id)
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
      expect(page.url()).toBe(at(`/messages/${message.id}`))
      expect(await text(page)).toMatch(
        /context length exceeded[^]*message\.failed[^]*Run 1[^]*message\.failed 200/,
      )
      expect(deliveries.length).toBeGreaterThan(1)
      await follow(`/console/deliveries/${deliveries[0]?.id}`)
      await follow(`/console/messages/${message.id}`)
      expect(page.url()).toBe(at(`/messages/${message.id}`))
      await follow('/console/sessions/support?session=order-4712')
      expect(await page.textContent('h1')).toBe('order-4712')
    })
  })

  it('goes straight to the page of the only result, without script', async () => {
    const { message, deliveries } = await found('order-4711')
    const deliveryId = deliveries[0]?.id ?? ''
    await browser.signedIn(
      async (page) => {
        for (const [words, path] of [
          [` ${message.id.toUpperCase()} `, `/messages/${message.id}`],
          [deliveryId, `/deliveries/${deliveryId}`],
          [webhookId(1), `/webhooks/${webhookId(1)}`],
          ['chat.example', `/webhooks/${webhookId(1)}`],
          ['customer RECORDS', `/webhooks/${webhookId(0)}`],
          ['order-4711', `/sessions/${message.agentId}?session=order-4711`],
          ['INVOICE 2214, 39', `/messages/${message.id}`],
        ] as const) {
          await search(page, words)
          expect(page.url(), words).toBe(at(path))
        }
      },
      { javaScriptEnabled: false },
    )
  })

  it('lists several results, and says how to search if there is none', async () => {
    await browser.signedIn(async (page) => {
      for (const [words, title] of [
        ['customer-1837', 'Messages of the end user “customer-1837”'],
        ['c-20931', 'Messages with the correlation ID “c-20931”'],
      ] as const) {
        await search(page, words)
        expect(await page.getByRole('heading', { name: title }).count()).toBe(1)
        expect(await page.locator('main tbody tr').count()).toBe(3)
      }
      const { projectId, service } = browser.demo
      const elsewhere = { projectId, agent: 'triage', sessionId: 'order-4713', message: 'Hi' }
      await service.messages.send({ ...elsewhere, waitMs: 0 })
      await search(page, 'order-4713')
      expect(await text(page)).toMatch(/agent triage[^]*agent support/)
      await search(page, 'example')
      expect(await page.locator('main li').count()).toBe(5)
      await search(page, 'no such words')
      expect(await text(page)).toContain('Nothing found')
    })
  })

  it('finds nothing that the key cannot read', async () => {
    const { service } = browser.demo
    const { message } = await found('order-4711')
    const project = await service.projects.create({ name: 'stranger' })
    const everything = ['project:message', 'project:webhooks'] as const
    for (const [key, hidden] of [
      [await keyWith(everything, project.id), [message.id, 'order-4711', 'chat.example']],
      [await keyWith(['project:webhooks']), [message.id, 'order-4711', 'INVOICE']],
      [await keyWith(['project:message']), [webhookId(1), 'chat.example']],
    ] as const)
      await browser.signedIn(
        async (page) => {
          for (const words of hidden) {
            await search(page, words)
            expect(await text(page), words).toContain('Nothing found')
          }
        },
        { key },
      )
  })

  it('opens the list behind each number of the overview', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(at(''))
      const link = page.locator('.tile', { hasText: 'Failed messages' }).locator('.value a')
      const count = Number(await link.textContent())
      expect(count).toBeGreaterThan(0)
      await link.click()
      expect(await page.textContent('h1')).toBe('Failed messages')
      const rows = page.locator('main tbody tr')
      // The list has all of them, and the tile those that failed in the shown time.
      expect(await rows.count()).toBeGreaterThanOrEqual(count)
      for (const row of await rows.all())
        expect(await row.textContent()).toContain('RUNTIME_ERROR the model refused')

      await page.goto(at(''))
      const numbers = await page
        .locator('.tile .value a, .tile .small a, .legend a, .codes a, main tbody a')
        .evaluateAll((links) =>
          links.map((link) => [link.getAttribute('href') ?? '', link.textContent] as const),
        )
      expect(numbers.length).toBeGreaterThan(20)
      for (const [path, number] of numbers) {
        if (path.startsWith('#') || number.startsWith('0')) continue
        // A browser would take most of the time of this file.
        const list = await page.request.get(new URL(path, at('')).href)
        // A later attempt of the same delivery can have another answer.
        const isRetried = /answer=(none|5xx|4xx|failed)/.test(path)
        const listed = (await list.text()).split('<th scope="row"').length - 1
        expect(list.status(), path).toBe(200)
        expect(listed, path).toBeGreaterThanOrEqual(isRetried ? 0 : 1)
      }
    })
  })

  it('lists the deliveries that webhooks hold, over pages', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(at(''))
      await page.locator('.tile', { hasText: 'Held' }).locator('.value a').click()
      const ids: string[] = []
      for (;;) {
        const rows = await page
          .locator('main tbody tr')
          .evaluateAll((all) =>
            all.map((row) => [row.textContent, row.querySelector('th a')?.getAttribute('href')]),
          )
        for (const [shown, href] of rows) {
          expect(shown).toMatch(/legacy\.example|old\.example|data\.example/)
          ids.push(href ?? '')
        }
        const older = page.getByRole('link', { name: 'Older' })
        if ((await older.count()) === 0) break
        await Promise.all([page.waitForNavigation(), older.click()])
      }
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids.length).toBeGreaterThan(50)
    })
  })

  it('a webhook shows its description, attempts, failures, limit and settings', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(at(`/webhooks/${webhookId(1)}`))
      expect(await page.textContent('h1')).toBe('Team chat')
      expect(await text(page)).toMatch(/at a time[^]*chat\.example\.com[^]*agent\.error/)
      expect(await page.locator('.chart svg rect').count()).toBeGreaterThan(0)
      await page.goto(at(`/webhooks/${webhookId(2)}`))
      expect(await text(page)).toContain('1 request at a time: until the receiver accepts it')
      const failures = page.getByRole('group', { name: 'Recent failures' })
      expect(await failures.locator('tbody tr').first().textContent()).toMatch(/exhausted[^]*500/)
    })
  })

  it('limits a webhook to an agent, sessions and metadata, and removes the filter', async () => {
    const { projectId, service, webhooks } = browser.demo
    const ref = { projectId, webhookId: webhooks[0]?.id ?? '' }
    const filterNow = async () => (await service.webhooks.get(ref)).filter
    await browser.signedIn(async (page) => {
      await page.goto(at(`/webhooks/${ref.webhookId}/edit`))
      await page.getByText('Order, filter, limits and retries').click()
      await page.getByLabel('Only events of the agent').fill('support')
      await page.getByLabel('Only sessions that start with').fill('order-')
      await page.getByLabel('Only messages with this metadata').fill('plan = pro\nsize exists')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The changes were saved').waitFor()
      const agent = await service.agents.get({ projectId, agent: 'support' })
      expect(await filterNow()).toEqual({
        agentId: agent.id,
        sessionIdPrefix: 'order-',
        metadata: [
          { path: 'plan', equals: 'pro' },
          { path: 'size', exists: true },
        ],
      })
      await page.getByRole('link', { name: 'Edit' }).click()
      expect(await page.getByLabel('Only events of the agent').inputValue()).toBe('support')
      expect(await page.getByLabel('Only messages with this metadata').inputValue()).toBe(
        'plan = "pro"\nsize exists',
      )
      for (const label of ['events of the agent', 'sessions that start', 'messages with this'])
        await page.getByLabel(`Only ${label}`).fill('')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The changes were saved').waitFor()
      expect(await filterNow()).toBeUndefined()
    })
  })

  it('the sessions page opens at the agent with the newest message', async () => {
    const { projectId, service } = browser.demo
    const greeting = { sessionId: 'new', message: 'Hello', waitMs: 0 }
    await service.messages.send({ projectId, agent: 'translator', ...greeting })
    await browser.signedIn(async (page) => {
      await page.goto(at('/conversations/sessions'))
      expect(await page.locator('#agent').inputValue()).toBe('translator')
    })
  })

  it.each([1280, 390])('a session id of 184 characters fits %i pixels', async (width) => {
    expect(LONG_SESSION).toHaveLength(184)
    const { message, deliveries } = await found(LONG_SESSION)
    const query = new URLSearchParams({ session: LONG_SESSION }).toString()
    await browser.signedIn(
      async (page) => {
        for (const path of [
          '/conversations/sessions?agent=support',
          `/sessions/support?${query}`,
          '/conversations',
          `/messages/${message.id}`,
          `/deliveries/${deliveries[0]?.id}`,
          `/search?q=${LONG_SESSION.slice(0, 99)}x`,
        ]) {
          await page.goto(at(path))
          expect(await page.evaluate<number>(OVERFLOWING), path).toBe(0)
          const pageWidth = 'document.documentElement.scrollWidth'
          expect(await page.evaluate<number>(pageWidth), path).toBeLessThanOrEqual(width)
        }
      },
      { viewport: { width, height: 640 } },
    )
  })
})
