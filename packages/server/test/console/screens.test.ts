import axe, { type AxeResults } from 'axe-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser
const at = (path: string): string => browser.at(path)
const webhook = (n: number): string => browser.demo.webhooks[n]?.id ?? ''

/** Finds the boxes that need horizontal scrolling. */
const SCROLLED = `[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent)`

/** The rules of axe that depend on colors. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block']

async function messageOf(sessionId: string): Promise<string> {
  const { projectId, service } = browser.demo
  const found = await service.messages.search({ projectId, sessionId, page: { limit: 1 } })
  return found._unsafeUnwrap().data[0]?.message.id ?? ''
}

async function refusedDelivery(): Promise<string> {
  const { projectId, service } = browser.demo
  const filter = { projectId, webhookId: webhook(2), lastAnswer: '5xx' } as const
  const found = await service.deliveries.list(filter, { limit: 1 })
  return found._unsafeUnwrap().data[0]?.id ?? ''
}

async function anyKey(): Promise<string> {
  const { projectId, service } = browser.demo
  const found = await service.keys.list(projectId, { limit: 1 })
  return found._unsafeUnwrap().data[0]?.id ?? ''
}

const screens = async (): Promise<string[]> => [
  '',
  '?range=24h',
  '/agents',
  '/sessions?agent=support',
  '/sessions/support?session=order-4711',
  '/sessions/support?session=order-4712',
  '/sessions/support?session=order-4715',
  '/sessions/support?session=order-4715&view=raw',
  '/agents/triage/delete',
  `/webhooks/${webhook(1)}/delete`,
  '/sessions/support/erase?session=order-4711',
  `/webhooks/${webhook(1)}/edit`,
  '/messages',
  '/messages?state=failed',
  `/messages/${await messageOf('order-4712')}`,
  `/messages/${await messageOf('order-4711')}`,
  '/questions',
  `/questions/${await messageOf('order-4716')}`,
  `/questions/${await messageOf('order-4716')}/withdraw`,
  '/sessions/support?session=order-4716',
  '/search?q=order',
  '/search?q=customer-1837',
  '/search?q=nothing+like+it',
  '/webhooks',
  `/webhooks/${webhook(0)}`,
  `/webhooks/${webhook(3)}`,
  '/deliveries',
  `/deliveries?answer=5xx&webhook=${webhook(1)}`,
  `/webhooks/${webhook(1)}/rotate`,
  `/webhooks/${webhook(1)}/disable`,
  '/recover',
  `/recover?webhook=${webhook(0)}&status=delivered&answer=2xx`,
  `/deliveries/${await refusedDelivery()}`,
  '/deliveries?event=webhook.disabled',
  '/deliveries?held=yes',
  '/deliveries?answer=failed',
  '/sessions',
  '/project',
  '/keys',
  `/keys/${await anyKey()}/revoke`,
  '/webhooks?show=held',
  '/agents?state=error',
  '/audit-log',
  '/catcher',
  '/sign-in',
]

describe('each screen of the console', { ...needs('chromium'), timeout: 5 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
  }, 3 * TIMEOUT_MS)
  afterAll(() => browser.close())

  it.each([
    { colorScheme: 'light', rules: undefined },
    { colorScheme: 'dark', rules: COLOR_RULES },
  ] as const)(
    'has no accessibility faults in $colorScheme mode',
    async ({ colorScheme, rules }) => {
      const faults: object[] = []
      const run = `axe.run(${JSON.stringify({ runOnly: rules })})`
      await browser.signedIn(
        async (page) => {
          for (const path of [...(await screens()).map(at), browser.docs]) {
            await page.goto(path)
            await page.evaluate(axe.source)
            const { violations } = await page.evaluate<AxeResults>(run)
            faults.push(
              ...violations.map(({ id, nodes }) => ({
                path,
                id,
                nodes: nodes.map(({ html, any }) => [html, any[0]?.message]),
              })),
            )
          }
        },
        { colorScheme },
      )
      expect(faults).toEqual([])
    },
  )

  it.each([360, 830])('fits a width of %i pixels', async (width) => {
    await browser.signedIn(
      async (page) => {
        for (const path of await screens()) {
          await page.goto(at(path))
          expect(
            await page.evaluate<number>('document.documentElement.scrollWidth'),
            path,
          ).toBeLessThanOrEqual(width)
          if (width < 400) expect(await page.evaluate<string[]>(SCROLLED), path).toEqual([])
        }
      },
      { viewport: { width, height: 640 } },
    )
  })

  it('fits a width of 360 pixels despite long words', async () => {
    const { projectId, service } = browser.demo
    const [name, description] = ['a'.repeat(63), 'W'.repeat(200)]
    const agent = { projectId, name, runtime: { kind: 'http' } }
    ;(await service.agents.create(agent))._unsafeUnwrap()
    const hook = { projectId, url: 'https://crm.example.com/', events: ['*'] as const, description }
    const { id } = (await service.webhooks.create(hook))._unsafeUnwrap().webhook
    await browser.signedIn(
      async (page) => {
        for (const path of [
          '/agents',
          '/sessions',
          `/sessions?agent=${name}`,
          `/agents/${name}/delete`,
          '/webhooks',
          `/webhooks/${id}`,
        ]) {
          await page.goto(at(path))
          expect(
            await page.evaluate<number>('document.documentElement.scrollWidth'),
            path,
          ).toBeLessThanOrEqual(360)
        }
      },
      { viewport: { width: 360, height: 640 } },
    )
  })
})
