/** What the page of a one-time link adds to the style of the reference page. */
export const inputStyle = `
main { overflow-wrap: anywhere } main > section p { margin: 0 0 .5rem }
h2 { margin-top: 1.5rem; font-size: 1.1rem; border: 0 } section h2 { margin-top: 0 }
.sender { display: flex; align-items: center; gap: .6rem; margin: 0; font-weight: 600 } .sender img { max-width: 8rem; height: 2rem; object-fit: contain }
.field { min-width: 0; margin: 0 0 1.25rem; padding: 0; border: 0 } .field > label:not(.check), legend { padding: 0; font-weight: 600 } .field p { margin: .15rem 0 }
.check { display: flex; gap: .6rem; align-items: center; min-height: 2.75rem } .check input { flex: none; width: 1.2rem; height: 1.2rem }
input:not([type=radio], [type=checkbox]) { min-height: 2.75rem } button { min-height: 2.75rem }
.muted { color: var(--soft); font-weight: 400 } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit }
.problem { margin-bottom: 1rem; padding: .5rem .75rem; border-left: 4px solid var(--delete); background: var(--card) } .problem p, .problem ul { margin: .2rem 0 } details { margin-bottom: 1.25rem }
.said { margin: .6rem 0; padding: .4rem .8rem; border-radius: .5rem; background: var(--card) } .said p { margin: .2rem 0 } .own { margin-left: 1.5rem }
[hidden] { display: none }
`

/**
 * The page works without this script. It keeps the typed texts in the tab until they are stored,
 * and shows times in the zone of the reader.
 */
export const inputScript = `
const stored = (() => { try { return sessionStorage } catch { return undefined } })()
const key = location.pathname

const showKept = (kept) => {
  const heading = document.createElement('h2')
  heading.textContent = 'What you wrote'
  const texts = kept.filter(([, text]) => text).map(([, text]) => {
    const shown = document.createElement('pre')
    shown.textContent = text
    return shown
  })
  if (texts.length > 0) document.querySelector('main').append(heading, ...texts)
}

const start = (isFirst) => {
  for (const time of document.querySelectorAll('time'))
    time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: 'full', timeStyle: 'short' })
  const form = document.querySelector('form[novalidate]')
  const kept = JSON.parse(stored?.getItem(key) ?? 'null')
  if (document.querySelector('[data-stored]')) return stored?.removeItem(key)
  if (!form) return isFirst && kept && !document.querySelector('pre') && showKept(kept)
  for (const field of kept ? form.elements : []) {
    const texts = kept.filter(([name]) => name === field.name).map(([, text]) => text)
    if (field.type === 'radio' || field.type === 'checkbox') field.checked = texts.includes(field.value)
    else if (texts.length > 0) field.value = texts[0]
  }
  form.addEventListener('input', () => {
    try { stored?.setItem(key, JSON.stringify([...new FormData(form)])) } catch { /* The storage is full. */ }
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const unreadable = [...form.elements].find((field) => field.validity?.badInput)
    if (unreadable) unreadable.reportValidity()
    else void send(form)
  })
}

const send = async (form) => {
  const button = form.querySelector('button')
  if (button.disabled) return
  button.disabled = true
  const note = form.querySelector('[hidden], .unsent')
  note.hidden = true
  const body = new URLSearchParams(new FormData(form))
  const page = await fetch(location.href, { method: 'POST', body, signal: AbortSignal.timeout(30_000) })
    .then((answer) => answer.text()).catch(() => '')
  button.disabled = false
  const next = new DOMParser().parseFromString(page, 'text/html').querySelector('main')
  if (!next) {
    note.className = 'problem unsent'
    note.hidden = false
    note.textContent = 'The server did not confirm your answer. Your text is still here. Check your connection, and send it again.'
    return
  }
  document.querySelector('main').replaceWith(next)
  document.title = next.querySelector('h1').textContent
  start(false)
  scrollTo(0, 0)
  next.focus()
}
start(true)
`
