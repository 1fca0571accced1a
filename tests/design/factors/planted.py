"""Phrases of known groups, written for the tests of clusters."""

ACTIVITIES = {
    "cooking": "bake bread; fry an egg; cook soup; roast a chicken; boil pasta; chop onions; grill a steak; "
    "make a salad; bake cookies; prepare dinner",
    "cleaning": "mop the floor; vacuum the carpet; wash the windows; dust the shelves; scrub the bathtub; "
    "clean the kitchen; sweep the porch; wash the dishes; tidy the bedroom; clean the toilet",
    "sports": "play tennis; run a marathon; swim laps; play basketball; ride a bike; lift weights; "
    "play soccer; go skiing; practice yoga; jog in the park",
    "repair": "fix a leaking pipe; repair a bicycle; change a tire; replace a light bulb; fix the roof; "
    "repair the engine; install a shelf; fix the computer; mend a fence; repair a watch",
    "study": "study for an exam; write an essay; read a textbook; take notes in class; do homework; "
    "prepare a presentation; learn French; solve math problems; attend a lecture; write a thesis",
    "childcare": "feed the baby; change a diaper; read to my child; bathe the baby; "
    "pick up the kids from school; put the baby to sleep; play with my kids; babysit my nephew; "
    "drive the kids to school; help my child with homework",
}


def phrases():
    """The phrases, and the group of each."""
    pairs = [(phrase, group) for group, text in ACTIVITIES.items() for phrase in text.split("; ")]
    return [phrase for phrase, _ in pairs], [group for _, group in pairs]


def rand_index(one, other):
    """Adjusted Rand index of two groupings (Hubert and Arabie 1985), counted out."""
    from collections import Counter
    from math import comb

    def pairs(labels):
        return sum(comb(n, 2) for n in Counter(labels).values())

    n = comb(len(one), 2)
    both, a, b = pairs(zip(one, other, strict=True)), pairs(one), pairs(other)
    expected = a * b / n
    return (both - expected) / ((a + b) / 2 - expected)
