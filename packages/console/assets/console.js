// The pages work without this script, except for copying and live updates.
const showCopyButtons = () => {
  for (const button of document.querySelectorAll('[data-copy][hidden]')) button.hidden = false
}

const showCopied = (button) => {
  button.classList.add('copied')
  setTimeout(() => button.classList.remove('copied'), 1200)
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy]')
  if (button) void navigator.clipboard.writeText(button.dataset.copy).then(() => showCopied(button))
})

// Sends the form of the focused field.
document.addEventListener('keydown', (event) => {
  const isSend = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
  if (isSend && event.target.matches?.('textarea')) event.target.form?.requestSubmit()
})

// A form sends the project that its page shows. If another tab has switched the project, the server
// refuses the form.
const addProject = (event) => {
  const { project } = document.documentElement.dataset
  const form = event.target
  if (!project || form.method !== 'post' || form.elements.shownProject) return
  const field = document.createElement('input')
  Object.assign(field, { type: 'hidden', name: 'shownProject', value: project })
  form.append(field)
}
document.addEventListener('submit', addProject, { capture: true })

// Tells the server the time zone of the viewer. The first page is loaded again in that zone.
const { zone, method } = document.documentElement.dataset
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone
if (ownZone && ownZone !== zone) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  document.cookie = `agent_messaging_zone=${ownZone}; Path=/console; Max-Age=31536000; SameSite=Lax${secure}`
  const isStored = document.cookie.includes('agent_messaging_zone=')
  const isSame = sessionStorage.getItem('zone') === ownZone
  sessionStorage.setItem('zone', ownZone)
  if (method === 'GET' && isStored && !isSame) location.reload()
}

// Shows the values of a bar for the pointer, for the focus and for the arrow keys.
const showReading = (plot, bar) => {
  for (const other of plot.querySelectorAll('a.read')) other.classList.remove('read')
  bar?.classList.add('read')
  plot.querySelector('.reading').textContent = bar?.dataset.reading ?? ''
}
document.addEventListener('pointerover', (event) => {
  const bar = event.target.closest?.('[data-reading]')
  if (bar) showReading(bar.closest('.plot'), bar)
})
document.addEventListener('focusin', (event) => {
  const plot = event.target
  if (!plot.matches?.('.plot') || plot.querySelector('a.read')) return
  showReading(plot, [...plot.querySelectorAll('[data-reading]')].at(-1))
})
document.addEventListener('focusout', (event) => {
  if (event.target.matches?.('.plot')) showReading(event.target)
})
document.addEventListener('keydown', (event) => {
  const plot = event.target
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key]
  if (!plot.matches?.('.plot')) return
  if (event.key === 'Enter')
    return location.assign(plot.querySelector('a.read').getAttribute('href'))
  if (step === undefined) return
  const bars = [...plot.querySelectorAll('[data-reading]')]
  const now = bars.findIndex((bar) => bar.matches('.read'))
  const next = now === -1 ? bars.length - 1 : Math.min(bars.length - 1, Math.max(0, now + step))
  showReading(plot, bars[next])
  event.preventDefault()
})

// Keeps what a reader has typed while the sign-in ends, and fills it into the form again after the
// next sign-in. The text stays in this tab, and the next page deletes it. Passwords are not kept.
const addressNow = () => {
  const { pathname, searchParams } = new URL(location.href)
  searchParams.delete('notice')
  return `${pathname}?${searchParams}`
}
const typedFields = () =>
  [
    ...document.querySelectorAll(
      'form[method="post"] :is(textarea, input:not([type="hidden"], [type="password"]))',
    ),
  ].map((field) => {
    const isBox = field.type === 'checkbox' || field.type === 'radio'
    const name = [field.form.getAttribute('action'), field.name, isBox ? field.value : ''].join(' ')
    return { field, name, property: isBox ? 'checked' : 'value' }
  })
const defaultOf = { checked: 'defaultChecked', value: 'defaultValue' }

const keepTyped = () => {
  if (location.pathname === '/console/sign-in') return
  const fields = typedFields()
    .filter(({ field, property }) => field[property] !== field[defaultOf[property]])
    .map(({ field, name, property }) => [name, field[property]])
  if (fields.length === 0) return
  sessionStorage.setItem('typed', JSON.stringify({ address: addressNow(), fields }))
}

const fillTyped = () => {
  const typed = JSON.parse(sessionStorage.getItem('typed') ?? 'null')
  if (!typed) return
  const isSignIn = location.pathname === '/console/sign-in'
  const isLed = new URLSearchParams(location.search).has('to')
  if (isSignIn && (isLed || typed.isOver))
    return sessionStorage.setItem('typed', JSON.stringify({ ...typed, isOver: true }))
  sessionStorage.removeItem('typed')
  if (!typed.isOver || typed.address !== addressNow()) return
  const values = new Map(typed.fields)
  for (const { field, name, property } of typedFields()) {
    if (!values.has(name)) continue
    field[property] = values.get(name)
    const details = field.closest('details')
    if (details) details.open = true
  }
}
addEventListener('pagehide', keepTyped)
fillTyped()

// Replaces the address of a form's result. Otherwise a reload would send the form again.
const { address } = document.querySelector('[data-address]')?.dataset ?? {}
if (address) history.replaceState(null, '', address)

// Skips the update of a part that has open details, selected text or the focus, also if they came
// after the request. A page in the background is not updated either.
const keepPartInUse = (event) => {
  const part = event.detail.requestConfig.elt
  const isInUse =
    part.querySelector('details[open], :focus-visible, .plot:hover') !== null || hasSelection(part)
  if (part.id === 'live' && (isInUse || document.hidden)) event.preventDefault()
}
document.addEventListener('htmx:beforeRequest', keepPartInUse)
document.addEventListener('htmx:beforeSwap', keepPartInUse)

const hasSelection = (part) => {
  const selection = getSelection()
  return selection !== null && !selection.isCollapsed && selection.containsNode(part, true)
}

// Shows that the page is stale while the server does not respond.
const stale = document.createElement('p')
stale.className = 'problem'
stale.role = 'alert'

const showStale = () => {
  if (stale.isConnected) return
  stale.textContent = `Not updated since ${new Date().toLocaleTimeString()}: the server does not respond.`
  document.querySelector('main').prepend(stale)
}
document.addEventListener('htmx:sendError', showStale)
document.addEventListener('htmx:responseError', showStale)
document.addEventListener('htmx:afterSwap', () => stale.remove())

document.addEventListener('htmx:afterSettle', showCopyButtons)
showCopyButtons()

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.matches?.('input, select, textarea')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  const field = document.querySelector('.search input')
  if (!field) return
  event.preventDefault()
  field.focus()
  field.select()
})

// Chooses an answer by its key. The focus moves to the button, so that Enter sends the answer.
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.matches?.('textarea, select, input:not([type="radio"])')
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !/^\w$/.test(event.key)) return
  const choice = document.querySelector(`[data-key="${event.key.toLowerCase()}"]`)
  if (!choice) return
  choice.checked = true
  choice.form.querySelector('.primary').focus()
})

// Shows the messages and answers of a session as they come. Replaces only changed answers.
const talk = document.querySelector('[data-live]')
/** Changes of answers that contain selected text. They wait for the end of the selection. */
const waiting = new Map()
let staleTimer

// The server looks at this many of the newest messages. More would make the address too long.
const NEWEST = 50
const versionsShown = () =>
  [...talk.querySelectorAll('.exchange')]
    .slice(-NEWEST)
    .map((turn) => `${turn.id.slice('turn-'.length)}:${turn.dataset.version}`)
    .join()

/** The form for the next message, behind the newest one. Readers have none. */
const endOfTalk = () => document.getElementById('end') ?? talk
const showEnd = () => endOfTalk().scrollIntoView({ block: 'end' })

const showTurn = ({ id, version, html }) => {
  const shown = document.getElementById(`turn-${id}`)
  if (shown?.dataset.version === version) return
  const answer = shown?.querySelector('.answered')
  if (answer && hasSelection(answer)) return waiting.set(id, { id, version, html })
  const isAtEnd = endOfTalk().getBoundingClientRect().bottom < innerHeight + 80
  const template = document.createElement('template')
  template.innerHTML = html
  const turn = template.content.firstElementChild
  const focused =
    document.activeElement?.closest('.answered') === answer ? document.activeElement : null
  if (answer) {
    const next = turn.querySelector('.answered')
    for (const { id: part } of answer.querySelectorAll('details[open] > summary[id]'))
      next.querySelector(`#${CSS.escape(part)}`)?.parentElement.setAttribute('open', '')
    answer.replaceWith(next)
    shown.dataset.version = version
  } else talk.append(turn)
  if (answer && focused)
    (document.getElementById(focused.id) ?? document.getElementById('message'))?.focus()
  showCopyButtons()
  const said = document.querySelectorAll(`#turn-${CSS.escape(id)} .answered .said`)
  const isFinal = /^(responded|failed)/.test(version)
  if (isFinal && said.length > 0)
    document.getElementById('news').textContent = [...said].map((one) => one.textContent).join(' ')
  if (isAtEnd) showEnd()
}

let source
const follow = () => {
  source?.close()
  if (document.hidden) return
  source = new EventSource(`${talk.dataset.live}&known=${versionsShown()}`)
  source.addEventListener('open', () => {
    clearTimeout(staleTimer)
    staleTimer = undefined
    stale.remove()
  })
  source.addEventListener('message', (event) => showTurn(JSON.parse(event.data)))
  source.addEventListener('error', () => {
    staleTimer ??= setTimeout(showStale, 4_000)
    if (source.readyState === EventSource.CLOSED) setTimeout(() => void followAgain(), 2_000)
  })
}

// Browsers open few connections to one server, so a page in the background keeps none.
document.addEventListener('visibilitychange', () => {
  if (talk?.dataset.live) follow()
})

// A refused stream can mean that the sign-in has ended.
const followAgain = async () => {
  const headers = { 'HX-Request': 'true' }
  const answer = await fetch(location.href, { headers }).catch(() => undefined)
  const signIn = answer?.headers.get('HX-Redirect')
  if (signIn) location.assign(signIn)
  else follow()
}

document.addEventListener('selectionchange', () => {
  for (const [id, turn] of waiting) {
    const answer = document.getElementById(`turn-${id}`)?.querySelector('.answered')
    if (answer && hasSelection(answer)) continue
    waiting.delete(id)
    showTurn(turn)
  }
})

// Sends without a new page. A refused form is sent again as usual, so that a page shows the
// reason. After a failure of the server, the message can be stored already, so it is not sent
// again.
const sendQuietly = async (event) => {
  const form = event.target
  event.preventDefault()
  const button = form.querySelector('.primary')
  button.disabled = true
  const body = new URLSearchParams(new FormData(form))
  const answer = await fetch(form.action, { method: 'POST', body }).catch(() => undefined)
  if (!answer?.redirected) button.disabled = false
  if (!answer || answer.status >= 500) return showStale()
  if (!answer.redirected) return form.submit()
  const isLive = answer.url.includes('/sessions/') && talk.dataset.live
  if (!isLive) return location.assign(answer.url)
  // A message with the id of this form would count as sent already.
  const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const formId = next.querySelector('#end [name="formId"]')?.value
  if (!formId) return location.assign(answer.url)
  form.querySelector('[name="formId"]').value = formId
  form.querySelector('#message').value = ''
  button.disabled = false
  form.querySelector('#message').focus()
}

if (talk) {
  document
    .querySelector('#end form')
    ?.addEventListener('submit', (event) => void sendQuietly(event))
  if (talk.dataset.live) follow()
  const isTold = document.querySelector('.notice, .problem') !== null
  if (talk.dataset.live && !location.hash && !isTold) showEnd()
}
