"""What the voices say: twenty sentences of 3 to 40 words."""

SENTENCES = (
    "Yes, it is.",
    "I do not know.",
    "Paris is the capital of France.",
    "A good night's sleep helps you remember what you learned.",
    "The train to the coast leaves at nine and arrives before noon.",
    "Plants need light, water, nutrients, and air to grow well.",
    "If you add a little salt to the water, the pasta will taste much better.",
    "The moon pulls on the oceans, and that is why we have tides twice a day.",
    "You can walk along the river in the morning and visit the old museum after lunch.",
    "Most cats sleep for more than twelve hours a day because hunting takes a lot of energy.",
    "To make bread, mix flour, water, yeast and salt, let the dough rise, and bake it in a "
    "hot oven.",
    "Learning a language takes time, but a few minutes of practice every day will bring you a"
    " long way.",
    "The library is open from Monday to Friday, and on Saturdays you may return your books "
    "until early afternoon.",
    "When the first snow fell last winter, the children ran outside and built a tall snowman "
    "beside the garden gate.",
    "A bicycle stays upright while it is moving because small corrections of the handlebar "
    "keep the wheels under the rider.",
    "Honey never spoils if it is kept in a closed jar, since it holds so little water that "
    "bacteria cannot live in it.",
    "The old lighthouse on the cliff was built more than a century ago, and its lamp still "
    "warns ships of the rocks below every night.",
    "If your computer is slow, close the programs that you do not use, restart it, and check "
    "whether the disk is almost full before you buy a new one.",
    "Rain forms when warm air rises and cools, so that the water in it gathers into drops "
    "that grow heavier and heavier until the air can no longer carry them and they fall.",
    "Many people believe that reading before bed helps them fall asleep faster, although "
    "doctors say that the bright light of a screen may have the opposite effect and keep the "
    "mind awake for much longer than a good book would.",
)
