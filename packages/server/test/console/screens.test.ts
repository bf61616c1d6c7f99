import axe, { type Result } from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { screensOf } from './all-screens.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser

/** The rules of axe that depend on colors. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block']
const MODES = [
  { colorScheme: 'light', rules: undefined },
  { colorScheme: 'dark', rules: COLOR_RULES },
] as const
const WIDTHS = [830, 390, 320]
const WIDE = { width: 1280, height: 800 }

/** Finds the boxes that need horizontal scrolling. */
const SCROLLED = `[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent)`

/** Waits for the colors of another mode. */
const SETTLED = `Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished)).then(() => undefined)`

const HEADER = `document.querySelector('header').offsetHeight`

/** Returns the accessibility faults of the page in light and dark mode. */
async function faultsOf(page: Page): Promise<object[]> {
  const faults: object[] = []
  await page.evaluate(axe.source)
  for (const { colorScheme, rules } of MODES) {
    await page.emulateMedia({ colorScheme })
    await page.evaluate(SETTLED)
    // The results without faults are megabytes.
    const options = { runOnly: rules, resultTypes: ['violations'] }
    const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`
    const violations = await page.evaluate<Result[]>(run)
    faults.push(
      ...violations.map(({ id, nodes }) => ({
        colorScheme,
        id,
        nodes: nodes.map(({ html, any }) => [html, any[0]?.message]),
      })),
    )
  }
  return faults
}

async function expectToFit(page: Page, path: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 640 })
    const name = `${path} at ${width} pixels`
    expect(
      await page.evaluate<number>('document.documentElement.scrollWidth'),
      name,
    ).toBeLessThanOrEqual(width)
    if (width > 400) continue
    expect(await page.evaluate<string[]>(SCROLLED), name).toEqual([])
    expect(await page.evaluate<number>(HEADER), name).toBeLessThanOrEqual(64)
  }
}

describe('each screen of the console', { ...needs('chromium'), timeout: 5 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
  }, 3 * TIMEOUT_MS)
  afterAll(() => browser.close())

  // Loading a screen takes longer than checking it, so one visit checks all. Two pages visit half
  // of the screens each.
  it.concurrent.each([0, 1])(
    'has no accessibility faults in light and dark mode, and fits small widths (half %i)',
    async (half) => {
      await browser.signedIn(async (page) => {
        const screens = (await screensOf(browser)).filter((_, at) => at % 2 === half)
        for (const path of screens) {
          await page.setViewportSize(WIDE)
          await page.goto(path)
          expect(await faultsOf(page), path).toEqual([])
          await expectToFit(page, path)
        }
      })
    },
  )

  it('and the reference of the API have no accessibility faults', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.docs)
      expect(await faultsOf(page)).toEqual([])
    })
  })

  it('fits a width of 360 pixels despite long words', async () => {
    const { projectId, service } = browser.demo
    const [name, description] = ['a'.repeat(63), 'W'.repeat(200)]
    const agent = { projectId, name, runtime: { kind: 'http' } }
    const endUserId = 'P'.repeat(256)
    const executionPrincipal = { type: 'end_user', endUserId } as const
    const sent = { sessionId: 'S'.repeat(256), message: 'M'.repeat(1_000), waitMs: 0 }
    await service.messages.send({ projectId, agent: 'support', executionPrincipal, ...sent })
    await service.agents.create(agent)
    const hook = { projectId, url: 'https://crm.example.com/', events: ['*'] as const, description }
    const { id } = (await service.webhooks.create(hook)).webhook
    await browser.signedIn(
      async (page) => {
        for (const path of [
          '/agents',
          '/conversations/sessions',
          `/conversations/sessions?agent=${name}`,
          `/agents/${name}`,
          `/people?id=${endUserId}`,
          `/people/erase?id=${endUserId}`,
          `/agents/${name}/delete`,
          '/webhooks',
          `/webhooks/${id}`,
        ]) {
          await page.goto(browser.at(path))
          expect(
            await page.evaluate<number>('document.documentElement.scrollWidth'),
            path,
          ).toBeLessThanOrEqual(360)
        }
      },
      { viewport: { width: 360, height: 640 } },
    )
  })

  it.each([320, 390])('folds the menu and the filter at %i pixels', async (width) => {
    await browser.signedIn(
      async (page) => {
        await page.goto(browser.at('/deliveries?answer=5xx'))
        const filter = page.locator('#filter')
        expect(await filter.isVisible()).toBe(false)
        await page.getByRole('button', { name: 'Filter (1)' }).click()
        await filter.getByLabel('Status').selectOption('exhausted')
        await filter.getByRole('button', { name: 'Filter' }).click()
        await page.waitForURL(/status=exhausted/)
        const menu = page.getByRole('navigation', { name: 'Main' })
        expect(await menu.isVisible()).toBe(false)
        await page.getByRole('button', { name: 'Menu' }).click()
        await menu.getByRole('link', { name: 'Webhooks' }).click()
        await page.waitForURL(browser.at('/webhooks'))
      },
      { viewport: { width, height: 640 } },
    )
  })
})
