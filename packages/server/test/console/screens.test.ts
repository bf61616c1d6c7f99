import axe, { type Result } from 'axe-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { screensOf } from './all-screens.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser

/** The rules of axe that depend on colors. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block']

describe('each screen of the console', { ...needs('chromium'), timeout: 5 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
  }, 3 * TIMEOUT_MS)
  afterAll(() => browser.close())

  it.concurrent.each([
    { colorScheme: 'light', rules: undefined },
    { colorScheme: 'dark', rules: COLOR_RULES },
  ] as const)(
    'has no accessibility faults in $colorScheme mode',
    async ({ colorScheme, rules }) => {
      const faults: object[] = []
      // The results without faults are megabytes.
      const options = { runOnly: rules, resultTypes: ['violations'] }
      const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`
      await browser.signedIn(
        async (page) => {
          for (const path of [...(await screensOf(browser)), browser.docs]) {
            await page.goto(path)
            await page.evaluate(axe.source)
            const violations = await page.evaluate<Result[]>(run)
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
})
