import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaks, locationLeaks, normalise } from '../leak.js';

const JWT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiI3In0.c2lnbmF0dXJl';

const WITHHELD = {
  'LEAK-01': [
    'at Shop.Cart.Add(',
    'failed at Shop.Cart.<Add>b__0 (line 3)',
    'at List<T>.Get . (0)',
    'at $outer_2(x)',
    'at worker:10:5',
    'broke at (native:10:5) again',
    'Traceback (most recent call last):',
  ],
  'LEAK-02': [
    'StockException',
    'Shop.StockException: none left',
    ...['Type', 'Reference', 'Syntax', 'Range', 'Eval', 'URI'].map((kind) => `${kind}Error: oops`),
  ],
  'LEAK-03': [
    'cannot open D:\\stock\\list',
    'see \\\\store\\public',
    ...['Users', 'home', 'var', 'usr', 'opt', 'srv', 'app', 'src', 'etc', 'tmp'].map((root) => `no file "/${root}/x"`),
    ...['cs', 'ts', 'tsx', 'js', 'jsx', 'py', 'java', 'rb', 'go', 'php', 'cpp', 'c', 'h', 'kt', 'swift'].map(
      (extension) => `raised in cart.${extension}:12`,
    ),
    'raised in Cart.CS:line 12',
  ],
  'LEAK-04': [
    ...['Server', 'Data Source', 'Password', 'User Id', 'Uid', 'Pwd', 'Initial Catalog'].map((key) => `x ${key}=y;`),
    'pwd = y ;',
    ...['mongodb', 'mongodb+srv', 'postgres', 'postgresql', 'mysql', 'redis', 'amqp', 'mssql'].map(
      (scheme) => `cannot reach ${scheme}://store`,
    ),
    'cannot reach MySQL://store',
    'cannot reach https://shop:secret@store/',
  ],
  'LEAK-05': ['Bearer 12345678 was refused', 'BEARER a.b-c~d+e/f=', `token ${JWT}`, `token=-${JWT};`],
  'LEAK-06': ['x'.repeat(1001), '\u{1F600}'.repeat(501)],
};

for (const [id, texts] of Object.entries(WITHHELD)) {
  for (const text of texts) {
    test(`${id} withholds ${text.slice(0, 60)}`, () => {
      assert.equal(leaks(text), true);
      // LEAK-07: white space of any kind and length where there was a space.
      assert.equal(leaks(`Sorry.\n${text.replaceAll(' ', '\r\n\t ')}\t`), true, 'split over lines');
    });
  }
}

const FORWARDED = [
  'Error: the quantity must be positive',
  'An unexpected error occurred; exception handling is on the way',
  'The order is at the warehouse, pick it up at noon',
  'look at the order (number 5)',
  'StockExceptional is not a plan we offer',
  'MyTypeError and TypeErrors',
  'No resource at /orders/5, nor at /orders/home/5 or /application/x',
  'Read https://docs.example.com/orders?page=2 and ./src/notes',
  'Server maintenance until 10:30',
  'the password is too short; use Password=',
  'styles.css:12 and the ratio 3.5:1',
  'use myredis://store, not the other',
  'the text was error:\\nothing left',
  'Bearer token is missing',
  'a forbearer standing before you',
  'keyJson.value.path and eyJ.a',
  'Bestellung nicht gefunden: größer als erlaubt',
  '注文が見つかりません。',
  'x'.repeat(1000),
  ` ${'x '.repeat(500)}  `,
];

for (const text of FORWARDED) {
  test(`LEAK-09 forwards ${text.slice(0, 60)}`, () => assert.equal(leaks(text), false));
}

test('normalise makes each run of white space one space and mends surrogates', () => {
  assert.equal(normalise('\t a\r\n b  c\td e\n'), 'a b c d e');
  assert.equal(normalise('\ud800 ok'), '\ufffd ok');
});

test('HEADER-07: a location is kept back for user information and credentials only', () => {
  const kept = [
    'https://ann@shop.example/orders',
    '//ann:pw@shop.example/',
    '/login?next=https://ann:pw@shop.example/',
    '/cb?authorization=Bearer+abcdefgh1',
    '/cb?authorization=bearer%20abcdefgh1',
    `/cb#${JWT}`,
  ];
  const passed = ['/app/orders/5', 'https://shop.example/users/ann@example.com', '/tmp/x?at=Main.run(', '/100%'];
  for (const location of kept) assert.equal(locationLeaks(location), true, location);
  for (const location of passed) assert.equal(locationLeaks(location), false, location);
});

test('LEAK-10: a hostile megabyte does not hold the filter up', { timeout: 60_000 }, () => {
  const units = ['at ', 'at .', '.', 'Server=', '-eyJa', 'eyJa.', 'a', ' ', '\\', ':1', '\u2028', '://a:', 'a+', '//'];
  const started = performance.now();
  for (const unit of units) {
    const text = unit.repeat(2 ** 20 / unit.length);
    // In both places: whole, and as much of it as the patterns ever see.
    for (const hostile of [`at ${text} x`, `at ${text.slice(0, 990)} x`]) {
      leaks(hostile);
      locationLeaks(hostile);
    }
  }
  // A pass over it takes milliseconds, its square takes hours: half a minute tells them apart anywhere.
  assert.ok(performance.now() - started < 30_000);
});
