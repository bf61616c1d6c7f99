import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { screensOf } from './all-screens.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser

/** Finds the boxes that need horizontal scrolling. */
const SCROLLED = `[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent)`

const HEADER = `document.querySelector('header').offsetHeight`

describe('each screen of the console', { ...needs('chromium'), timeout: 5 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
  }, 3 * TIMEOUT_MS)
  afterAll(() => browser.close())

  it.each([320, 390, 830])('fits a width of %i pixels', async (width) => {
    await browser.signedIn(
      async (page) => {
        for (const path of await screensOf(browser)) {
          await page.goto(path)
          expect(
            await page.evaluate<number>('document.documentElement.scrollWidth'),
            path,
          ).toBeLessThanOrEqual(width)
          if (width > 400) continue
          expect(await page.evaluate<string[]>(SCROLLED), path).toEqual([])
          expect(await page.evaluate<number>(HEADER), path).toBeLessThanOrEqual(64)
        }
      },
      { viewport: { width, height: 640 } },
    )
  })

  it('fits a width of 360 pixels despite long words', async () => {
    const { projectId, service } = browser.demo
    const [name, description] = ['a'.repeat(63), 'W'.repeat(200)]
    const agent = { projectId, name, runtime: { kind: 'http' } }
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
